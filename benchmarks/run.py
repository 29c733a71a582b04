"""`make bench`: measure, keep the results, and write docs/benchmarks.md from all that were kept.

Usage: python -m benchmarks.run [NAME...]
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import contention, insight, lab, measure, online, planner, report
from benchmarks.machine import machine

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURE = ROOT / "docs" / "benchmarks-scaling.svg"

FIGURES = {
    "one_trial": measure.one_trial,
    "algorithm_1": measure.algorithm_1,
    "large": measure.large,
    "compare": measure.compare,
    "scaling": measure.scaling,
    "makespans": planner.makespans,
    "completions": planner.completions,
    "large_search": planner.large_search,
    "cp_sat": planner.cp_sat,
    "philly": online.philly,
    "muri": online.muri,
    "planning": online.planning,
    "million": online.million,
    "simpy": online.simpy,
    "explain": insight.explain,
    "whatif": insight.whatif,
    "report": report.report,
    "models": contention.models,
    "crowded": contention.crowded,
    "lab": lab.lab,
}
GOALS = {
    "one_trial": "at most 0.2 ms",
    "algorithm_1": "at least 100 times faster than the literal one",
    "large": "longest-first under 5 s, sjf-bco under 60 s, under 1024 MiB",
    "compare": "under 30 s on 2 cores",
    "scaling": "a plot and the fitted exponents",
    "makespans": "mean gap at most 1.03 with 20 servers and 1.04 with 10, none above 1.08; at 0.15 on "
    "average 30 % below SJF-BCO, 15 % on every seed; never above longest-first",
    "completions": "never above SJF-BCO, 3 % below on average",
    "large_search": "half of the distance from the best constructive policy to the bound, or a gap of "
    "1.01; under 2048 MiB",
    "cp_sat": "shown beside the search",
    "philly": "fifo at least 50,000 jobs a second (wish: 100,000), 20,000 with EASY; the command under 15 s",
    "muri": "shown beside Philly",
    "planning": "shown",
    "million": "under 2048 MiB; a job of a million at most twice the cost of one of 10,000",
    "simpy": "the same results, at least 30 times faster",
    "explain": "shown",
    "whatif": "variants under 1 s",
    "models": "shown",
    "crowded": "shown",
    "report": "160 jobs under 3 MB, 2,000 jobs open in under 2 s",
    "lab": "160 jobs under 200 ms, pictures included; 50 requests at once answered or asked to come again",
}


def main(names: list[str]) -> None:
    """Measure the named figures, or all."""
    figures = {}
    for name in names or FIGURES:
        figures[name] = FIGURES[name]()
        print(f"{name}: {json.dumps(figures[name])}", flush=True)
    now = datetime.now(UTC)
    result = {"date": now.isoformat(timespec="seconds"), "machine": machine(), "figures": figures}
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{now:%Y-%m-%dT%H%M%S}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    PAGE.write_text(page(results), encoding="utf-8")
    if "scaling" in figures:
        draw(figures["scaling"])


def page(results: list[dict[str, Any]]) -> str:
    """Return docs/benchmarks.md: the newest value of every figure, and how it went over time."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`; do not edit. Times are the best of several runs with compiled kernels, as",
        "machines are noisy; ratios are measured within one run. Every earlier result is kept in",
        "`benchmarks/results/` and is a column below, so that a regression shows.",
        "",
    ]
    for name, function in FIGURES.items():
        kept = [result for result in results if name in result["figures"]]
        if kept:
            lines += [f"## {(function.__doc__ or '').splitlines()[0]}", "", f"Goal: {GOALS[name]}."]
            lines += [f"Command: `python -m benchmarks.run {name}`.", "", *_table(name, kept), ""]
    lines += ["## Machines", "", *[f"- {r['date']}: {_words(r['machine'])}" for r in results], ""]
    return "\n".join(lines)


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


def _table(name: str, results: list[dict[str, Any]]) -> list[str]:
    if name == "scaling":
        newest = results[-1]["figures"][name]
        rows = [
            f"| {curve} | {_figures([r['figures'][name].get(curve, {}).get('exponent') for r in results])} |"
            for curve in newest
        ]
        heading = "| exponent of one trial's time with | " + " | ".join(r["date"] for r in results) + " |"
        return [heading, _rule(len(results)), *rows, "", f"![how cost grows]({PICTURE.name})"]
    keys = list(results[-1]["figures"][name])
    heading = "| | " + " | ".join(result["date"] for result in results) + " |"
    rows = [f"| {key} | {_figures([r['figures'][name].get(key) for r in results])} |" for key in keys]
    return [heading, _rule(len(results)), *rows]


def _rule(columns: int) -> str:
    return "|---" * (columns + 1) + "|"


def _figures(values: list[float | None]) -> str:
    return " | ".join("" if value is None else _figure(value) for value in values)


def _figure(value: float) -> str:
    """Return three figures, as people write them: 1,190 and not 1.19e+03."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e12 else f"{value:.3g}"


def _words(facts: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in facts.items())


if __name__ == "__main__":
    main(sys.argv[1:])
