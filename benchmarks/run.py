"""`make bench`: measure, keep the results, and write the figures into README and docs.

Every part is stored as soon as it is measured. A run that was interrupted is continued by `--merge`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import effort
from benchmarks.machine import machine
from benchmarks.results import DIRECTORY, Result, load_results


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the named parts, or all; return 1 if one failed."""
    options = _options(arguments)
    if options.quick:
        os.environ[effort.VARIABLE] = "1"
    from benchmarks.parts import PARTS  # their sizes depend on --quick

    if unknown := [name for name in options.parts if name not in PARTS]:
        print(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    path, result = _newest() if options.merge else _new()
    names = options.parts or [name for name in PARTS if name not in result["figures"]]
    earlier = _seconds(load_results())
    started = time.perf_counter()
    failed = []
    for at, name in enumerate(names, start=1):
        expected = f", {earlier[name]:.0f} s the last time" if name in earlier else ""
        _say(f"[{at}/{len(names)}] {name}{expected}")
        try:
            figures, how = _measured(PARTS[name].measure)
        except Exception:
            traceback.print_exc()
            failed.append(name)
            continue
        _say(f"[{at}/{len(names)}] {name}: {how['s']:.0f} s; {time.perf_counter() - started:.0f} s in all")
        print(f"{name}: {json.dumps(figures)}", flush=True)
        result["figures"][name] = figures
        result.setdefault("parts", {})[name] = how
        if not options.quick:
            path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if not options.quick and len(failed) < len(names):
        _write_documents(result if "scaling" in names else None)
    if failed:
        _say(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


def _measured(measure: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures of a part, and how they were measured."""
    started = time.perf_counter()
    figures = measure()
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return figures, {"date": date, "commit": _commit(), "s": round(time.perf_counter() - started, 1)}


def _write_documents(with_scaling: Result | None) -> None:
    """Write docs/benchmarks.md and the figures in README and docs; say what could not be written."""
    from benchmarks import figures, page

    if with_scaling is not None:
        page.draw(with_scaling["figures"]["scaling"])
    for problem in figures.write():
        _say(problem)


def _new() -> tuple[Path, Result]:
    now = datetime.now(UTC)
    result = {"date": now.isoformat(timespec="seconds"), "machine": machine(), "figures": {}, "parts": {}}
    return DIRECTORY / f"{now:%Y-%m-%dT%H%M%S}.json", result


def _newest() -> tuple[Path, Result]:
    path = max(DIRECTORY.glob("*.json"))
    return path, json.loads(path.read_text(encoding="utf-8"))


def _seconds(results: list[Result]) -> dict[str, float]:
    """Return how long each part took the last time."""
    return {name: how["s"] for result in results for name, how in result.get("parts", {}).items()}


def _commit() -> str:
    command = ["git", "-C", str(DIRECTORY), "describe", "--always", "--dirty"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run",
        description="Measure, keep the results in a new file, and write the figures into README and docs.",
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="Parts to measure (default: all).")
    parser.add_argument(
        "--merge",
        action="store_true",
        help="Write into the newest file: the parts given, or those that it lacks.",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="Measure very little and write nothing, to see that every part works.",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
