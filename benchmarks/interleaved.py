"""`make ratio`: compare the speed of two versions of the source, run alternately on the same machine.

Every task of `benchmarks.tasks` does a fixed amount of work, and times are compared; a search has a fixed
time, and the values it reaches are compared. Each version runs in a separate process; the
other process sleeps meanwhile. The order is A B B A A B B A, so that slow changes of the machine affect both
alike. Of the times, CPU time counts, as other processes disturb it least; wall time is recorded beside it.
The ratio of a benchmark is the median over its pairs. The ratio of the least ones is printed beside it
as "least". Benchmarks whose ratio is still uncertain are measured again in new processes.

The exit code is 0 if the ratios are within their limits, 1 if one is not, and 2 if a task failed, if
the two versions computed different results, or if the run was interrupted.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.machine import machine

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
BASE, HERE = "base", "here"
LEAST_S = 0.05  # a shorter task is repeated within one timing
MOST_S = 5.0  # for the timings of one task in one round; a longer task is timed less often
FEWEST = 4


class TaskFailed(Exception):
    """A task raised an exception in one of the versions."""


@dataclass
class Measured:
    """The times of one task, in pairs that were measured next to each other."""

    name: str
    number: int = 1  # calls in one timing
    cpu_s: dict[str, list[float]] = field(default_factory=lambda: {BASE: [], HERE: []})
    wall_s: dict[str, list[float]] = field(default_factory=lambda: {BASE: [], HERE: []})
    values: dict[str, list[float]] = field(default_factory=lambda: {BASE: [], HERE: []})
    problem: str = ""

    @property
    def ratios(self) -> list[float]:
        """The CPU time, or the value, here over that of the base, for each pair."""
        compared = self.compared
        return [here / base for base, here in zip(compared[BASE], compared[HERE], strict=True)]

    @property
    def compared(self) -> dict[str, list[float]]:
        """What is compared: the values of a task that has a fixed time, and the CPU times of all others."""
        return self.values if self.values[BASE] else self.cpu_s

    @property
    def ratio(self) -> float:
        """The median over the pairs."""
        return median(self.ratios)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles of the pairs' ratios."""
        if len(self.ratios) < 2:
            return math.nan
        first, _, third = quantiles(self.ratios, n=4)
        return (third - first) / 2

    @property
    def error(self) -> float:
        """The standard error of the ratio, from the spread, as if the ratios were normally distributed."""
        return 1.2533 * (self.spread / 0.6745) / math.sqrt(len(self.ratios))

    @property
    def ratio_of_least(self) -> float:
        """The least here over the least of the base."""
        return min(self.compared[HERE]) / min(self.compared[BASE])

    def text(self, label: str) -> str:
        """Return the median of what one version has, with its unit."""
        middle = median(self.compared[label])
        return f"{middle:.4g} s" if self.values[BASE] else f"{1e3 * middle:.4g} ms"

    def row(self) -> dict[str, Any]:
        """Return what is kept in the results."""
        if self.problem and not self.ratios:
            return {"problem": self.problem}
        return {
            "base_s": median(self.cpu_s[BASE]),
            "here_s": median(self.cpu_s[HERE]),
            "ratio": self.ratio,
            "ratio_of_least": self.ratio_of_least,
            "ratio_of_wall": median(self.wall_s[HERE]) / median(self.wall_s[BASE]),
            "spread": self.spread,
            "error": self.error,
            "problem": self.problem,
            "times": asdict(self),
        }


class Version:
    """A worker process that runs the tasks with the source of one directory."""

    def __init__(self, label: str, directory: Path) -> None:
        self.label = label
        source = directory.resolve() / "src"
        if not (source / "ringsched").is_dir():
            raise SystemExit(f"{directory} has no src/ringsched; give the root of a checkout of ringsched")
        # The order of sets, and with it memory, would otherwise differ between the two processes.
        environment = os.environ | {"PYTHONPATH": str(source), "PYTHONHASHSEED": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.interleaved_worker"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        greeting = self._answer()
        if not Path(greeting["source"]).is_relative_to(source):
            raise SystemExit(f"the worker for {directory} imported ringsched from elsewhere")
        self.tasks: list[str] = greeting["tasks"]

    def ask(self, method: str, argument: object) -> dict[str, Any]:
        """Return the answer of the worker, or raise TaskFailed."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"method": method, "argument": argument}) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        if "error" in answer:
            raise TaskFailed(f"failed in {self.label}: {answer['error']}")
        return answer

    def close(self) -> None:
        """End the worker process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the worker for {self.label} ended; its messages are above")
        answer: dict[str, Any] = json.loads(line)
        return answer


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and return the exit code."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was measured so far is printed
    started = time.perf_counter()
    results: dict[str, Measured] = {}
    interrupted = False
    try:
        for number in range(options.rounds):
            _round(f"round {number + 1}/{options.rounds}", options, options.only, results)
        for number in range(options.extra_rounds):
            # Chosen by their noise and not by their ratios: to repeat only what is above the limit, until
            # it is not, would favour the version that is judged.
            noisy = [
                name for name, each in results.items() if each.ratios and not each.error <= options.noise
            ]
            if noisy:
                _round(f"extra round {number + 1}/{options.extra_rounds}", options, noisy, results)
    except KeyboardInterrupt:
        interrupted = True
    measured_all = [each for each in results.values() if each.ratios or each.problem]
    if not measured_all:
        print("interrupted before the first benchmark was measured", file=sys.stderr)
        return 2
    print("\n".join(table(measured_all)))
    summary, code = verdict(measured_all, most_median=options.most_median, most=options.most)
    print(*summary, f"{time.perf_counter() - started:.0f} s in all", sep="\n")
    if options.output is not None:
        _save(options, measured_all, summary)
    if interrupted:
        print("INTERRUPTED: not every benchmark was measured", file=sys.stderr)
        return 2
    return code


def _round(
    title: str, options: argparse.Namespace, only: Sequence[str], results: dict[str, Measured]
) -> None:
    """Add the pairs of one round, measured in new processes."""
    with _versions(options.base, options.here) as versions:
        names = _chosen(versions[BASE].tasks, only)
        for at, name in enumerate(names, start=1):
            measured = results.setdefault(name, Measured(name))
            if not measured.problem:
                _measure(measured, versions, options.repeats)
            _progress(f"{title}, {at}/{len(names)}", measured)


def table(results: Sequence[Measured]) -> list[str]:
    """Return a Markdown table with a row for each task."""
    width = max(len(result.name) for result in results)
    lines = [
        f"| {'benchmark':{width}} |       base |       here | ratio | error | least | spread | pairs |",
        f"|{'-' * (width + 2)}|-----------:|-----------:|------:|------:|------:|-------:|------:|",
    ]
    for result in results:
        if not result.ratios:
            lines.append(f"| {result.name:{width}} | {result.problem}")
            continue
        lines.append(
            f"| {result.name:{width}} | {result.text(BASE):>10} | {result.text(HERE):>10} "
            f"| {result.ratio:5.3f} | {result.error:5.3f} | {result.ratio_of_least:5.3f} "
            f"| {result.spread:6.3f} | {len(result.ratios):5} |"
            + (f" {result.problem}" if result.problem else "")
        )
    return lines


def verdict(results: Sequence[Measured], *, most_median: float, most: float) -> tuple[list[str], int]:
    """Return the lines of the summary and the exit code."""
    lines: list[str] = []
    code = 0
    compared = [result for result in results if result.ratios]
    if compared:
        middle = median(result.ratio for result in compared)
        largest = max(compared, key=lambda result: result.ratio)
        above = [result for result in compared if result.ratio > most]
        lines.append(f"median ratio {middle:.3f} over {len(compared)} benchmarks (limit {most_median:g})")
        lines.append(f"largest ratio {largest.ratio:.3f}: {largest.name} (limit {most:g})")
        lines += [
            f"ABOVE THE LIMIT: {result.name}: {result.ratio:.3f} ± {result.error:.3f}"
            + (", not clear of the limit by two errors" if result.ratio - 2 * result.error < most else "")
            for result in above
        ]
        code = 1 if above or middle > most_median else 0
    problems = [f"PROBLEM: {result.name}: {result.problem}" for result in results if result.problem]
    return lines + problems, 2 if problems else code


def _measure(measured: Measured, versions: dict[str, Version], repeats: int) -> None:
    """Add the pairs of one round to the times of a task."""
    try:
        first = {label: version.ask("prepare", measured.name) for label, version in versions.items()}
        results = {label: answer["result"] for label, answer in first.items()}
        if not _same(results[BASE], results[HERE]):
            measured.problem = f"results differ: base {results[BASE]}, here {results[HERE]}"
        if not measured.ratios:
            measured.number = max(1, math.ceil(LEAST_S / first[BASE]["cpu_s"]))
        pair_s = measured.number * sum(answer["cpu_s"] for answer in first.values())
        for at in range(min(repeats, max(FEWEST, int(MOST_S / pair_s)))):
            pair = {
                label: versions[label].ask("run", measured.number)
                for label in ((BASE, HERE) if at % 2 == 0 else (HERE, BASE))
            }
            for label, times in pair.items():
                measured.cpu_s[label].append(times["cpu_s"])
                measured.wall_s[label].append(times["wall_s"])
                if "value" in times:
                    measured.values[label].append(times["value"])
    except TaskFailed as failure:
        measured.problem = str(failure)


def _same(one: Any, other: Any) -> bool:
    """Compare results; floating-point numbers may differ by rounding, as sums may be in another order."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)


@contextmanager
def _versions(base: Path, here: Path) -> Iterator[dict[str, Version]]:
    versions: dict[str, Version] = {}
    try:
        for label, directory in ((BASE, base), (HERE, here)):
            versions[label] = Version(label, directory)
        yield versions
    finally:
        for version in versions.values():
            version.close()


def _chosen(names: Sequence[str], only: Sequence[str]) -> list[str]:
    """Return the tasks that begin with one of the given names; all if none is given."""
    unknown = [start for start in only if not any(name.startswith(start) for name in names)]
    if unknown:
        groups = ", ".join(dict.fromkeys(name.split("/")[0] for name in names))
        raise SystemExit(f"no benchmark begins with {unknown[0]!r}; there are {groups}")
    return [name for name in names if not only or name.startswith(tuple(only))]


def _progress(where: str, measured: Measured) -> None:
    state = f"{measured.ratio:.3f}" if measured.ratios else ""
    print(f"{where} {measured.name}: {state} {measured.problem}".rstrip(), file=sys.stderr, flush=True)


def _save(options: argparse.Namespace, results: Sequence[Measured], summary: Sequence[str]) -> None:
    content = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "base": _commit(options.base),
        "here": _commit(options.here),
        "summary": list(summary),
        "ratios": {result.name: result.row() for result in results},
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _commit(directory: Path) -> str:
    command = ["git", "-C", str(directory), "describe", "--always", "--dirty"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.interleaved",
        description="Compare the speed of two versions of ringsched, run alternately.",
    )
    parser.add_argument(
        "--base", type=Path, required=True, metavar="DIR", help="Root of the checkout to compare with."
    )
    parser.add_argument(
        "--here",
        type=Path,
        default=ROOT,
        metavar="DIR",
        help="Root of the checkout to judge (default: this one).",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        help="Run only benchmarks whose names begin with NAME.",
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=10,
        metavar="N",
        help="Pairs of timings in each round (default: %(default)s).",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=1,
        metavar="N",
        help="Repeat everything N times in new processes (default: %(default)s).",
    )
    parser.add_argument(
        "--extra-rounds",
        type=int,
        default=2,
        metavar="N",
        help="Up to N extra rounds for noisy benchmarks; all pairs count (default: %(default)s).",
    )
    parser.add_argument(
        "--noise",
        type=float,
        default=0.02,
        metavar="ERROR",
        help="Standard error of a ratio above which a benchmark is noisy (default: %(default)s).",
    )
    parser.add_argument(
        "--most-median",
        type=float,
        default=1.05,
        metavar="RATIO",
        help="Largest allowed median of all ratios (default: %(default)s).",
    )
    parser.add_argument(
        "--most",
        type=float,
        default=1.10,
        metavar="RATIO",
        help="Largest allowed ratio of one benchmark (default: %(default)s).",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="Write all times to a JSON file.")
    options = parser.parse_args(arguments)
    if options.repeats < 1 or options.rounds < 1:
        parser.error("--repeats and --rounds must be at least 1")
    if options.output is not None and options.output.resolve().parent == RESULTS:
        parser.error(
            f"`make bench` reads every file in {RESULTS.name}/; write to {RESULTS.name}/ratios/ instead"
        )
    return options


if __name__ == "__main__":
    sys.exit(main())
