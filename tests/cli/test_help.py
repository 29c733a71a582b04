"""Help that fits a screen, names with one meaning, suggestions, values, and completion."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from shutil import which

import click
import pytest
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete
from tests.cli.helpers import run, sentence

from ringsched.cli.main import COMMANDS, ringsched
from ringsched.cli.values import DURATION, GAP
from ringsched.errors import InputError
from ringsched.formatting import duration, gap_text, percent_above


def commands(group: click.Group = ringsched, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def command_at(path: tuple[str, ...]) -> click.Command:
    command: click.Command | None = ringsched
    for name in path:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), name)
    assert command is not None
    return command


PATHS = [(), *commands()]


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_help_fits_a_screen(path: tuple[str, ...], width: int) -> None:
    """Nothing is longer than a screen, no option is broken, and no line of a list is cut."""
    from click.testing import CliRunner

    result = CliRunner().invoke(ringsched, [*path, "--help"], terminal_width=width)
    lines = result.output.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= width
    assert not [line for line in lines[1:] if re.search(r"--[\w-]+-$|\w\.\.\.$", line)]


@pytest.mark.parametrize("path", PATHS[1:], ids=" ".join)
def test_help_of_every_option_is_a_phrase(path: tuple[str, ...]) -> None:
    for param in command_at(path).params:
        if isinstance(param, click.Option) and param.name != "help":
            assert param.help, param.opts
            assert param.help.partition("  [")[0].endswith((".", "?")), param.help


def test_an_option_has_one_kind_of_value() -> None:
    """`--jobs` once was a file, a number of processes and a number of jobs."""
    kinds: dict[str, set[str]] = {}
    for path in PATHS[1:]:
        for param in command_at(path).params:
            if isinstance(param, click.Option):
                kind = "flag" if param.is_flag else param.metavar or ""
                for name in param.opts:
                    kinds.setdefault(name, set()).add(kind)
    alike = {
        "--policy": {"NAME|FILE.py:NAME", "NAME"},
        "--output": {"FILE", "PATH", "DIR"},
        "-o": {"FILE", "PATH", "DIR"},
        "--gpus-per-server": {"N", "A,B,..."},  # of `slurm local`, a number for each server
        "--levels": {"N:N:...", "A,B,..."},  # of `topology`, the names of the levels
        "--concurrent": {"N", "N,..."},  # of `calibrate fit`, a number for each file
    }
    assert {name: found for name, found in kinds.items() if len(found) > 1} == alike


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plna"], "no such command 'plna' (did you mean 'plan'?)"),
        (
            ["slurm", "sumbit"],
            "slurm: no such command 'sumbit' (did you mean 'submit'?); choose from cluster,",
        ),
        (["plan", "--polcy", "x", "a.toml"], "plan: no such option '--polcy' (did you mean '--policy'?)"),
        (["plan"], "plan: SCENARIO is missing; see 'ringsched plan --help'"),
        (["compare", "a.toml"], "compare: --policies is missing"),
        (["plan", "a.toml", "--seed", "x"], "plan: --seed must be an integer, not 'x'"),
        (["plan", "a.toml", "b.toml"], "plan: got unexpected extra argument (b.toml)"),
        (["--verson"], "no such option '--verson' (did you mean '--version'?)"),
        (
            ["plan", "examples/first.toml", "--policy", "serch"],
            "unknown policy 'serch' (did you mean 'search'?)",
        ),
        (
            ["report", "a", "b", "--format", "htm"],
            "--format names the unknown format 'htm' (did you mean 'html'?)",
        ),
        (["import", "phily", "x"], "FORMAT names the unknown format 'phily' (did you mean 'philly'?)"),
        (["plan", "a.toml", "--time-limit", "soon"], "--time-limit must be a duration such as 90 (seconds)"),
    ],
)
def test_usage_errors_are_one_sentence(arguments: list[str], said: str) -> None:
    assert sentence(run(*arguments)).startswith(f"Error: {said}")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("5min", 300), ("2h", 7200), ("1h30min", 5400), ("1 h 30 min", 5400),
     ("1d", 86400),
     ("250ms", 0.25), ("1.5h", 5400), ("-1", -1)],
)  # fmt: skip
def test_durations(text: str, seconds: float) -> None:
    assert DURATION.convert(text, None, None) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "5 m", "min", "1h30", "h1"])
def test_no_durations(text: str) -> None:
    with pytest.raises(InputError, match="must be a duration such as"):
        DURATION.convert(text, None, None)


@pytest.mark.parametrize("text", ["1 min", "6 min 52 s", "1 h 27 min", "1 h", "12.3 s", "0.123 s"])
def test_what_is_printed_can_be_written(text: str) -> None:
    assert duration(DURATION.convert(text, None, None)) == text


@pytest.mark.parametrize(
    ("text", "ratio"), [("1%", 1.01), ("0.01", 1.01), ("0", 1), ("0%", 1), ("150 %", 2.5)]
)
def test_gaps(text: str, ratio: float) -> None:
    assert GAP.convert(text, None, None) == pytest.approx(ratio)


@pytest.mark.parametrize("text", ["1.05", "-1%", "nan", "x", ""])
def test_no_gaps(text: str) -> None:
    with pytest.raises(InputError, match="must be a percentage above the bound"):
        GAP.convert(text, None, None)


def test_a_gap_in_words() -> None:
    assert (gap_text(1.0), gap_text(1.0143)) == ("0.0 %, proved optimal", "1.5 %")


def test_a_gap_is_never_understated() -> None:
    """A makespan of 2090 s above a bound of 1670 s is 25.15 % above it, and once was "at most 25.1 %"."""
    assert percent_above(2090 / 1670) == "25.2 %"
    for excess in range(1, 4000):
        shown = float(percent_above(1 + excess / 40_000).removesuffix(" %"))
        assert excess / 400 <= shown + 1e-9 < excess / 400 + 0.1


SHELLS: list[type[ShellComplete]] = [BashComplete, ZshComplete, FishComplete]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [
        ([], "si", ["simulate"]),
        (["plan"], "--max", ["--max-schedules", "--max-wait"]),
        (["plan", "--policy"], "sj", ["sjf-bco"]),
        (["compare", "--policies"], "fifo,sjf", ["fifo,sjf-bco"]),
        (["plan", "--objective"], "m", ["makespan", "mean-completion", "max-slowdown"]),
        (["plan", "--order"], "sh", ["shortest-first"]),
        (["plan", "--set"], "inter", ["inter_server_gbps="]),
        (["simulate", "--backfill"], "e", ["easy"]),
        (["compare", "--contention-models"], "paper,ph", ["paper,phases"]),
        (["report", "--format"], "p", ["perfetto", "png"]),
        (["import"], "ph", ["philly", "philly-json"]),
        (["example"], "fi", ["first"]),
        (["slurm", "submit", "--model"], "vg", ["vgg16", "vgg19"]),
        (["explain", "examples/first.toml", "--job"], "vgg", ["vgg-sweep-1", "vgg-sweep-2", "vgg-sweep-3"]),
        (["whatif", "examples/first.toml", "--remove-server"], "node", [f"node-{at}" for at in range(4)]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_completion(
    shell: type[ShellComplete], words: list[str], incomplete: str, expected: list[str]
) -> None:
    complete = shell(ringsched, {}, "ringsched", "_RINGSCHED_COMPLETE")
    found = complete.get_completions(words, incomplete)
    assert [item.value for item in found] == expected
    assert all(item.value in complete.format_completion(item) for item in found)


def test_completion_in_a_real_bash(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script that the docs tell users to evaluate, in bash itself."""
    import os
    import sys
    from pathlib import Path

    if which("bash") is None:
        pytest.skip("NO BASH HERE")
    folder = Path(str(tmp_path))
    command = folder / "ringsched"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ringsched "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    script = """
eval "$(_RINGSCHED_COMPLETE=bash_source ringsched)"
COMP_WORDS=(ringsched plan --policy sj); COMP_CWORD=3
_ringsched_completion ringsched
printf '%s\\n' "${COMPREPLY[@]}"
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["sjf-bco"]


def test_every_command_can_be_loaded() -> None:
    assert {path[0] for path in PATHS[1:]} == set(COMMANDS)
