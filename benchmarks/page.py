"""docs/benchmarks.md and its picture, written from the results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks.parts import PARTS
from benchmarks.results import Result

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "benchmarks.md"
PICTURE = DOCS / "benchmarks-scaling.svg"
MOST_COLUMNS = 4
GAPS = ("gap", "the bound", "under contention", "search", "gap of longest-first", "gap of SJF-BCO")
GAPS += ("gap of the best simple policy",)
# Ends of names in older results, and what they are called now.
RENAMED = {"best constructive policy": "best simple policy", "asked to come again": "refused with status 503"}
# The rows of the summary: what is measured, the part, and its figure.
SUMMARY = (
    (
        "gap of `search` after ten seconds, the paper's workload",
        "makespans",
        "contention 0.15, 20 servers: mean gap",
    ),
    ("gap of SJF-BCO there", "makespans", "contention 0.15, 20 servers: mean gap of SJF-BCO"),
    ("planning 10,000 jobs with `longest-first`, s", "large", "longest-first, s"),
    ("simulating the Philly trace with `fifo`, jobs/s", "philly", "fifo, jobs/s"),
    ("mean completion of the Muri trace with `free-links`, h", "muri", "free-links, mean completion, h"),
)


def write(results: list[Result]) -> None:
    """Write docs/benchmarks.md."""
    PAGE.write_text(page(results), encoding="utf-8")


def page(results: list[Result]) -> str:
    """Return docs/benchmarks.md: the newest values of every part, beside those of earlier runs."""
    lines = [
        "# Benchmarks",
        "",
        "`make bench` writes this page; do not edit it. Times are the shortest of several runs with",
        "compiled kernels, unless a row says otherwise. Ratios are measured within one run. A gap is how far",
        f"a plan is above the lower bound. The last {MOST_COLUMNS} results of each benchmark are shown, the",
        "newest on the right. All are in `benchmarks/results/`.",
        "",
        *_summary(results),
    ]
    for name, part in PARTS.items():
        kept = [result for result in results if name in result["figures"]][-MOST_COLUMNS:]
        if kept:
            lines += [f"## {part.title}", "", f"Goal: {part.goal}." if part.goal else "No goal."]
            lines += [part.note] if part.note else []
            lines += [f"Command: `python -m benchmarks.run {name}`.", "", *_table(name, kept), ""]
    machines: dict[str, list[str]] = {}
    for result in results:
        machines.setdefault(_words(result["machine"]), []).append(_date(result))
    lines += ["## Machines", "", *(f"- {', '.join(dates)}: {words}" for words, dates in machines.items()), ""]
    return "\n".join(lines)


def _summary(results: list[Result]) -> list[str]:
    """Return a table of the newest value of a few figures, with links to their parts."""
    rows = []
    for what, name, key in SUMMARY:
        values = [result["figures"][name].get(key) for result in results if name in result["figures"]]
        if values:
            link = f"[all figures](#{_anchor(PARTS[name].title)})"
            rows.append(f"| {what} | {_cell(key, values[-1])} | {link} |")
    return ["| measured | newest | details |", "|---|---|---|", *rows, ""] if rows else []


def _anchor(title: str) -> str:
    """Return the anchor of a heading, as code hosts make it."""
    return re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-")


def draw(scaling: dict[str, Any]) -> None:
    """Draw how cost grows, on logarithmic axes."""
    from matplotlib import pyplot
    from matplotlib.ticker import LogFormatter, StrMethodFormatter

    pyplot.rcParams["svg.hashsalt"] = "ringsched"
    figure, axes = pyplot.subplots(1, len(scaling), figsize=(11, 3.2), layout="constrained")
    for axis, (name, curve) in zip(axes, scaling.items(), strict=True):
        axis.loglog(*zip(*[(x, 1e3 * y) for x, y in curve["points"]], strict=True), marker="o")
        axis.set_xlabel(name)
        axis.set_ylabel("ms per trial")
        axis.set_title(f"exponent {curve['exponent']:.2f}")
        axis.set_xticks([x for x, _ in curve["points"]], [f"{x:g}" for x, _ in curve["points"]])
        axis.set_xticks([], minor=True)
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
        axis.grid(visible=True, which="both", alpha=0.3)
    figure.savefig(PICTURE, metadata={"Date": None})


def _table(name: str, results: list[Result]) -> list[str]:
    heading, picture = "", []
    columns = [{_renamed(key): value for key, value in result["figures"][name].items()} for result in results]
    if name == "scaling":
        heading = "exponent of one trial's time with"
        columns = [{curve: each["exponent"] for curve, each in column.items()} for column in columns]
        picture = ["", f"![how cost grows]({PICTURE.name})"]
    return [
        f"| {heading} | " + " | ".join(_date(result) for result in results) + " |",
        "|---" * (len(results) + 1) + "|",
        *(
            f"| {key} | " + " | ".join(_cell(key, each.get(key)) for each in columns) + " |"
            for key in columns[-1]
        ),
        *picture,
    ]


def _renamed(key: str) -> str:
    for old, new in RENAMED.items():
        if key.endswith(old):
            return key.removesuffix(old) + new
    return key


def _date(result: Result) -> str:
    return str(result["date"])[:16].replace("T", " ")


def _cell(key: str, value: float | str | list[Any] | None) -> str:
    """Return three digits, as people write them: 1,190 and not 1.19e+03; a gap in percent."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(_cell(key, each) for each in value)
    if key.endswith(GAPS):
        return f"{100 * (value - 1):.1f} %"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e12 else f"{value:.3g}"


def _words(facts: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in facts.items())
