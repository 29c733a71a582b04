"""`ringsched report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ringsched.cli.command import Command, for_terminal, option
from ringsched.cli.options import FILE, output_option, scenario_argument
from ringsched.cli.progress import Working
from ringsched.cli.values import Name
from ringsched.errors import InputError
from ringsched.formats.files import check_writable, write_text
from ringsched.formats.plan import load_plan
from ringsched.formats.scenario import input_files, load_scenario, locate
from ringsched.formatting import counted

# Default output of each format; pictures are several files in a directory.
DEFAULT_OUTPUT = {"html": "report.html", "perfetto": "trace.json", "svg": "pictures", "png": "pictures"}
PICTURES = ("svg", "png")


@click.command("report", cls=Command)
@scenario_argument
@click.argument("plan_files", metavar="PLAN...", nargs=-1, required=True, type=FILE)
@option(
    "--format",
    "kind",
    metavar="|".join(DEFAULT_OUTPUT),
    type=Name("format", DEFAULT_OUTPUT, check=True),
    default="html",
    show_default=True,
    help="A web page, a trace for the Perfetto viewer, or pictures for papers.",
)
@output_option(
    "File to write, or directory for pictures.  [default: report.html, trace.json, pictures]", metavar="PATH"
)
def report_command(scenario_file: Path, plan_files: tuple[Path, ...], kind: str, output: Path | None) -> None:
    """Draw plans: GPUs over time, contention on links, and the gap.

    Writes one HTML file that opens in any browser, without a network. Several plans are compared. A plan that
    is not valid is drawn as it is written, with a warning.
    """
    target = Path(DEFAULT_OUTPUT[kind]) if output is None else output
    if target == Path("-"):
        raise InputError("names no file; /dev/stdout prints", field="-o -")
    targets = _traces(target, list(labels(plan_files))) if kind == "perfetto" else [target]
    if kind not in PICTURES:
        for path in targets:
            check_writable(path)
    scenario = load_scenario(scenario_file)
    plans = {label: load_plan(path) for label, path in labels(plan_files).items()}
    for path in targets:
        _check_no_input(path, scenario_file, plan_files)
    if kind in PICTURES:
        from ringsched.drawing import check_matplotlib

        check_matplotlib(field=f"--format {kind}")
    from ringsched.reporting.data import report_data

    try:
        with Working("looking at the plans"):
            data = report_data(scenario, plans)
    except InputError as error:
        raise _located(error, scenario_file, labels(plan_files)) from None
    for plan in data["plans"]:
        if not plan["summary"]["valid"]:
            warning = f"Warning: {plan['label']} is not valid; `ringsched verify` lists the violations"
            click.echo(for_terminal(warning), err=True)
    click.echo(_write(data, kind, targets))


def _traces(target: Path, named: list[str]) -> list[Path]:
    """Return the file of each plan's trace: Perfetto orders servers by their slices, and would mix plans."""
    from ringsched.reporting.report import file_suffixes

    return [target.with_name(f"{target.stem}{suffix}{target.suffix}") for suffix in file_suffixes(named)]


def _write(data: dict[str, Any], kind: str, targets: list[Path]) -> str:
    """Write what was asked for; return one line about it."""
    target = targets[0]
    if kind in PICTURES:
        from ringsched.reporting.pictures.draw import pictures_of

        names = pictures_of(data, target, kind)
        return f"{counted(len(names), 'picture')} written to {target}: {', '.join(names)}"
    if kind == "perfetto":
        from ringsched.reporting.perfetto import trace_of

        for plan, path in zip(data["plans"], targets, strict=True):
            write_text(path, trace_of(data | {"plans": [plan]}))
        written = "trace" if len(targets) == 1 else "traces"
        return f"{written} written to {', '.join(map(str, targets))}"
    from ringsched.reporting.report import page_of

    write_text(target, page_of(data))
    return f"report written to {target}"


def labels(plan_files: tuple[Path, ...]) -> dict[str, Path]:
    """Return the files by what they are called in the report: their names if these differ, else their paths.

    Examples
    --------
    >>> list(labels((Path("a/search.json"), Path("a/random.json"))))
    ['search', 'random']
    >>> list(labels((Path("a/plan.json"), Path("b/plan.json"))))
    ['a/plan.json', 'b/plan.json']
    """
    stems = {path.stem: path for path in plan_files}
    by_label = stems if len(stems) == len(plan_files) else {str(path): path for path in plan_files}
    if len(by_label) < len(plan_files):
        twice = next(path for at, path in enumerate(plan_files) if path in plan_files[:at])
        raise InputError("is given twice", file=str(twice))
    return by_label


def _check_no_input(target: Path, scenario_file: Path, plan_files: tuple[Path, ...]) -> None:
    """Raise if the report would be written over what it is made from."""
    if not target.exists():
        return
    for what, path in [*input_files(scenario_file).items(), *(("plan", path) for path in plan_files)]:
        if target.samefile(path):
            raise InputError(f"is the {what} itself; write the report to another file", file=str(target))


def _located(error: InputError, scenario_file: Path, files: dict[str, Path]) -> InputError:
    """Return an error with the file it is about: a plan's if it names one, else the scenario."""
    for label, path in files.items():
        if error.place == f"plan {label!r}":
            return InputError(error.problem, file=str(path))
    return error if error.file or not error.place else locate(error, scenario_file)
