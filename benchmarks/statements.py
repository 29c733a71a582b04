"""Where README and docs state a speed or a quality, and which result each of these figures is.

A statement is a phrase as it is in a document, with the name of a figure in braces in place of its number.
`python -m benchmarks.figures --write` puts the newest numbers there; a test compares them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean
from typing import Any

from benchmarks.results import Result, newest

Figure = Callable[[list[Result]], str]

# Their figures are written otherwise: benchmarks.md by `make bench`, the paper's by `ringsched paper`, and
# a decision record has what was measured when the decision was made.
UNCHECKED = ("docs/benchmarks.md", "docs/paper.md", "docs/decisions/", "docs/changelog.md")


def figure(part: str, key: str, form: Callable[[float], str] | None = None) -> Figure:
    """Return a figure that is one value of a part."""
    return lambda results: (form or digits)(newest(results, part)[key])


def digits(value: float) -> str:
    """Return three significant digits, as people write them: 32,600 and 0.527."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.3g}"


def rough(value: float) -> str:
    """Return two significant digits."""
    return digits(float(f"{value:.2g}"))


def tenths(value: float) -> str:
    """Return one digit after the point."""
    return f"{value:.1f}"


def hundredths(value: float) -> str:
    """Return two digits after the point."""
    return f"{value:.2f}"


def _of_all(
    part: str, ending: str, take: Callable[[list[float]], float], *, round_up: bool = False
) -> Figure:
    """Return a figure over all settings of a part, in whole percent above 1."""

    def of_all(results: list[Result]) -> str:
        values = [value for key, value in newest(results, part).items() if key.endswith(ending)]
        percent = 100 * (take(values) - 1)
        return f"{math.ceil(percent) if round_up else percent:.0f}"

    return of_all


FIGURES: dict[str, Figure] = {
    "search: gap": _of_all("makespans", ": mean gap", fmean),
    "sjf-bco: least gap": _of_all("makespans", ": mean gap of SJF-BCO", min),
    "sjf-bco: largest gap": _of_all("makespans", ": mean gap of SJF-BCO", max),
    "10,000 jobs: longest-first": figure("large", "longest-first, s"),
    "10,000 jobs: sjf-bco": figure("large", "sjf-bco, s"),
    "philly: fifo": figure("philly", "fifo, jobs/s"),
    "philly: easy": figure("philly", "fifo + easy, jobs/s"),
    "whatif: variants": figure("whatif", "plan by longest-first, five variants, s", rough),
    "search: max-min over paper": figure("models", "a search, max-min over paper", tenths),
    "search: phases over paper": figure("models", "a search, phases over paper", tenths),
    "crowded: phases over paper": figure("crowded", "first-fit, plan, phases over paper", rough),
    "simulated: phases": figure("models", "all kinds, phases, median error, %"),
    "simulated: max-min": figure("models", "all kinds, max-min, median error, %"),
    "simulated: paper": figure("models", "all kinds, paper, median error, %"),
    "rings: phases": figure("validation", "all, phases, median error, %", tenths),
    "rings: phases, worst": figure("validation", "all, phases, worst, %", tenths),
}
_WAITING = "contention 0.15, longest first, free-links over longest-first, makespan"
FIGURES |= {
    "waiting": figure("policies", _WAITING, hundredths),
    "waiting, low": figure("policies", f"{_WAITING}, low", hundredths),
    "waiting, high": figure("policies", f"{_WAITING}, high", hundredths),
    "waiting: gap": _of_all("policies", "longest first, free-links: mean gap", max, round_up=True),
    "adaptive-overlap: mean completion": _of_all(
        "policies", "adaptive-overlap over free-links, mean completion", max, round_up=True
    ),
}
for _policy, _share in (
    ("sjf-bco", 0.05),
    ("sjf-bco", 0.15),
    ("sjf-bco", 0.3),
    ("lwf", 0.3),
    ("adaptive-overlap", 0.05),
    ("adaptive-overlap", 0.3),
):
    _key = f"contention {_share}, {_policy} over free-links, makespan"
    FIGURES |= {
        f"{_policy}/{_share}": figure("policies", _key, hundredths),
        f"{_policy}/{_share}, low": figure("policies", f"{_key}, low", hundredths),
        f"{_policy}/{_share}, high": figure("policies", f"{_key}, high", hundredths),
    }

STATEMENTS = (
    # README.md
    "ends on average {search: gap} % above a lower bound",
    "heuristic is {sjf-bco: least gap} to {sjf-bco: largest gap} % above it",
    "within {rings: phases} % in the median and {rings: phases, worst} % at worst",
    "at {philly: fifo} jobs a second, or {philly: easy} with EASY backfilling",
    "planned in {10,000 jobs: longest-first} s by `longest-first` "
    "and in {10,000 jobs: sjf-bco} s by `sjf-bco`",
    # docs/faq.md, docs/how-to
    "ends about {search: gap} % above the lower bound",
    "the median error was {rings: phases} % on rings",
    "the median error of `phases` is {simulated: phases} %, of `max-min` {simulated: max-min} %, "
    "of `paper` {simulated: paper} %",
    "A search takes {search: phases over paper} times as long as under `paper`",
    "`plan` took up to {crowded: phases over paper} times as long",
    # docs/calibration.md
    "`phases` has a median error of {rings: phases} %",
    "and {rings: phases, worst} % at worst",
    # docs/concepts
    "takes {search: phases over paper} times as long as under the paper's rule",
    "({search: max-min over paper} times under `max-min`)",
    "SJF-BCO takes {sjf-bco/0.05} ({sjf-bco/0.05, low} to {sjf-bco/0.05, high}), {sjf-bco/0.15} "
    "({sjf-bco/0.15, low} to {sjf-bco/0.15, high}) and {sjf-bco/0.3} ({sjf-bco/0.3, low} to "
    "{sjf-bco/0.3, high}) times as long",
    "which ignores links: {waiting} ({waiting, low} to {waiting, high}). It ends within {waiting: gap} % of",
    "it takes {lwf/0.3} ({lwf/0.3, low} to {lwf/0.3, high}) times as long as waiting",
    "Compared with waiting, it takes {adaptive-overlap/0.05} ({adaptive-overlap/0.05, low} to "
    "{adaptive-overlap/0.05, high}) times as long at 0.05 and {adaptive-overlap/0.3} "
    "({adaptive-overlap/0.3, low} to {adaptive-overlap/0.3, high}) times at 0.3",
    "In mean completion the two differ by less than {adaptive-overlap: mean completion} %",
    "five variants of two hundred jobs take {whatif: variants} s",
)

# Phrases that look like figures of ours: numbers of an example, of another paper, settings, and what was
# measured once with data that are not in this repository.
NO_FIGURES = (
    "An iteration takes {} s inside a server",
    "iterations of {} s take {} s",
    "on the link it takes {} s",
    "at most {} % above the best possible",
    "It is {} % better than any plan",
    "a job takes three times as long as it can",
    "then takes {} s instead of {} s",
    "should take {} minutes",
    "That costs {} minutes",
    "and {} % on measured pairs of real jobs",
    "In a review on 32 servers with racks and odd job sizes, simple policies were up to {} % better",
    "Links four times as fast",
)


def _models(results: list[Result]) -> list[str]:
    found = newest(results, "models")
    kinds = {
        "all the time": "always exchanging",
        "10 to 100 % of the time": "all kinds",
        "a third to half": "a third to half",
        "5 to 20 %": "seldom",
    }
    rows = {"`phases`": "phases", "`max-min`": "max-min", "`paper`, share 1": "paper"}
    return [
        f"| jobs that exchange | {' | '.join(kinds)} |",
        "|---" * (len(kinds) + 1) + "|",
        *(
            f"| {row} | "
            + " | ".join(
                f"{found[f'{kind}, {model}, median error, %']:.1f} %, "
                f"{found[f'{kind}, {model}, 95 % within, %']:.1f} %"
                for kind in kinds.values()
            )
            + " |"
            for row, model in rows.items()
        ),
    ]


def _validation(results: list[Result]) -> list[str]:
    found = newest(results, "validation")
    blocks = {
        "a chain": ("a chain: 0-1, 1-2, twice 2-3; never computing", 4),
        "3+1": ("3+1: three workers on one server, one on another", 3),
        "half the time": ("duty cycle 0.5, three jobs with one link in common", 3),
        "a third of it": ("duty cycle 0.33, one over four servers, two over two", 3),
        "mixed": ("mixed duty cycles 1, 0.5, 0.33", 3),
        "all": ("all", 16),
    }
    models = {"phases": "phases", "max-min": "max-min", "paper": "the paper", "one by one": "one by one"}
    lines = [f"| block | jobs | {' | '.join(models.values())} |", "|---" * (len(models) + 2) + "|"]
    for block, (title, jobs) in blocks.items():
        names = [f"{block}, {model}" for model in models]
        if f"{names[0]}, worst, %" in found:  # else all runs of the block were suspect
            errors = [
                f"{found[f'{name}, median error, %']:.1f} %, {found[f'{name}, worst, %']:.1f} %"
                for name in names
            ]
            lines.append(f"| {title} | {jobs} | {' | '.join(errors)} |")
    suspect = f"Suspect blocks, which are left out: {found['blocks suspect']}."
    return [*lines, "", f"Runs: {found['runs']}. {suspect}"]


def _rings(results: list[Result]) -> list[str]:
    found = newest(results, "validation")
    return [
        "| model | median | worst |",
        "|---|---|---|",
        *(
            f"| `{model}` | {found[f'all, {model}, median error, %']:.1f} % "
            f"| {found[f'all, {model}, worst, %']:.1f} % |"
            for model in ("phases", "max-min", "paper")
        ),
    ]


def _ddp(results: list[Result]) -> list[str]:
    found = newest(results, "ddp")
    models = {"phases": "phases", "max-min": "max-min", "paper": "the paper", "one by one": "one by one"}
    lines = [f"| jobs | number | {' | '.join(models.values())} |", "|---" * (len(models) + 2) + "|"]
    names = [key.removesuffix(", jobs") for key in found if key.endswith(", jobs")]
    for name in names:
        if f"{name}, phases, worst, %" in found:
            errors = " | ".join(
                f"{found[f'{name}, {model}, median error, %']:.1f} %, "
                f"{found[f'{name}, {model}, worst, %']:.1f} %"
                for model in models
            )
            lines.append(f"| {name} | {found[f'{name}, jobs']} | {errors} |")
    return [
        *lines,
        "",
        f"PyTorch {found['torch']}, {found['starts']} random starts. "
        f"Suspect blocks, which are left out: {found['blocks suspect']}.",
    ]


def _ddp_ranges(results: list[Result]) -> list[str]:
    found = newest(results, "ddp")
    lines = [
        "| jobs together | mean, s | least to most, s | behind the first job at the end |",
        "|---|---|---|---|",
    ]
    for name in (key.removesuffix(", s") for key in found if key.endswith(", s")):
        for at, mean in enumerate(found[f"{name}, s"]):
            least, most = found[f"{name}, least s"][at], found[f"{name}, most s"][at]
            behind = (
                ", ".join(f"{each:.2f}" for each in found[f"{name}, behind the first"][at - 1]) if at else ""
            )
            lines.append(f"| {name} | {mean:.3f} | {least:.3f} to {most:.3f} | {behind} |")
    return lines


def _whole_way(results: list[Result]) -> list[str]:
    found = newest(results, "whole_way")
    names = [key.removesuffix(": error, %") for key in found if key.endswith(": error, %")]
    return [
        "| job | planned, s | measured, s | error |",
        "|---|---|---|---|",
        *(
            f"| {name} | {found[f'{name}: planned s']:.2f} | {found[f'{name}: measured s']:.2f} "
            f"| {found[f'{name}: error, %']:+.1f} % |"
            for name in names
        ),
    ]


def _exact(results: list[Result]) -> list[str]:
    found = newest(results, "exact")
    names = [key.removesuffix(": optimal") for key in found if key.endswith(": optimal")]
    return [
        f"{found['seeds']} seeds of each size, at most {found['limit, s']:g} s each.",
        "",
        "| time and size | optimal | within 1 % | median s | longest s |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {found[f'{name}: optimal']} | {found[f'{name}: within 1 %']} "
            f"| {found[f'{name}: median s']:.2f} | {found[f'{name}: longest s']:.2f} |"
            for name in names
        ),
    ]


def _settings(found: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(key.split(": ")[0] for key in found))


def _cells(setting: str) -> str:
    share, servers = setting.removeprefix("contention ").split(", ")
    return f"| {float(share):.2f} | {servers.removesuffix(' servers')} |"


def _makespan_bounds(results: list[Result]) -> list[str]:
    found = newest(results, "bounds")
    return [
        "| contention | servers | core | all | seeds with a better bound by `long-jobs` |",
        "|---|---|---|---|---|",
        *(
            f"{_cells(each)} {found[f'{each}: makespan, core']:.2f} | {found[f'{each}: makespan, all']:.2f} "
            f"| {found[f'{each}: seeds by long-jobs']} |"
            for each in _settings(found)
        ),
    ]


def _completion_bounds(results: list[Result]) -> list[str]:
    found = newest(results, "bounds")
    names = ("best-cases", "squashed-area", "priced-gpus")
    lines = [
        f"| contention | servers | {' | '.join(f'`{name}`' for name in names)} | gap |",
        "|---" * (len(names) + 3) + "|",
    ]
    for each in _settings(found):
        bounds = " | ".join(f"{found[f'{each}: mean completion, {name}']:.1f}" for name in names)
        gap = found[f"{each}: mean completion, longest-first by smallest-area-first: gap"]
        lines.append(f"{_cells(each)} {bounds} | {100 * (gap - 1):.1f} % |")
    return lines


_GAPS = {
    "Philly": "gaps_philly",
    "Muri, load 0.9": "gaps_muri_0.9",
    "Muri, load 1.1": "gaps_muri_1.1",
    "diurnal": "gaps_diurnal",
}


def _gaps(results: list[Result]) -> list[str]:
    """Return the certified gaps of all policies, with exact estimates and with wrong ones."""
    found = [newest(results, part) for part in _GAPS.values()]
    policies = [
        key.removesuffix(", gap")
        for key in found[0]
        if key.endswith(", gap") and ", wrong estimates" not in key
    ]
    lines = [
        f"| policy | {' | '.join(_GAPS)} |",
        "|---" + "|--:" * len(_GAPS) + "|",
    ]
    for policy in sorted(policies, key=lambda each: found[0][f"{each}, gap"]):
        cells = [
            " / ".join(
                f"{100 * (world[f'{policy}{estimates}, gap'] - 1):.1f}"
                for estimates in ("", ", wrong estimates")
            )
            for world in found
        ]
        lines.append(f"| `{policy.removesuffix(' + easy')}`{_with_easy(policy)} | {' | '.join(cells)} |")
    return lines


def _with_easy(policy: str) -> str:
    return " with EASY" if policy.endswith(" + easy") else ""


# Tables between `<!-- figures: NAME -->` and `<!-- end of figures -->`.
TABLES: dict[str, Callable[[list[Result]], list[str]]] = {
    "models": _models,
    "validation": _validation,
    "rings": _rings,
    "ddp": _ddp,
    "ddp ranges": _ddp_ranges,
    "whole way": _whole_way,
    "exact": _exact,
    "makespan bounds": _makespan_bounds,
    "completion bounds": _completion_bounds,
    "gaps": _gaps,
}
