"""How long the first plan after an installation takes: no kernel is compiled, and no bytecode of ringsched.

Other packages have theirs, since pip compiles what it installs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ringsched
from benchmarks.effort import sized

ROOT = Path(__file__).parents[1]
FIRST = ROOT / "examples" / "first.toml"
REPEATS = sized(5, 1)
COLD_REPEATS = sized(3, 1)
LIMIT = sized((), ("--time-limit", "1s"))
LOOK_S = 0.02


def cold() -> dict[str, Any]:
    """The first plan on a machine, with empty caches, and the same commands warm."""
    with TemporaryDirectory() as name, _caches() as warm:
        directory = Path(name)
        paper = directory / "paper.json"
        ringsched.save_scenario(ringsched.generate(ringsched.Workload.paper(), seed=1), paper)
        _seconds(warm, "plan", str(FIRST))
        _seconds(warm, "--help")
        results: dict[str, Any] = {
            "--help, warm, s": min(_seconds(warm, "--help") for _ in range(REPEATS)),
            "first.toml, warm, s": min(_seconds(warm, "plan", str(FIRST)) for _ in range(REPEATS)),
        }
        times_s = []
        for _ in range(COLD_REPEATS):
            with _caches(warm) as empty:
                times_s.append(_seconds(empty, "plan", str(FIRST)))
        results["first.toml, cold, s"] = min(times_s)
        results["first.toml, cold over warm"] = min(times_s) / results["first.toml, warm, s"]
        with _caches(warm) as empty:
            first_s, all_s = _search(empty, paper, directory / "plan.json")
            results["160 jobs, cold, first plan, s"] = first_s
            results["160 jobs, cold, result, s"] = all_s
    return results


@contextmanager
def _caches(others: dict[str, str] | None = None) -> Iterator[dict[str, str]]:
    """Return an environment with separate caches, and kernels as a user has them.

    The caches are empty at first, or have the bytecode of all `others` but ringsched.
    """
    with TemporaryDirectory() as name:
        if others is not None:
            shutil.copytree(others["PYTHONPYCACHEPREFIX"], f"{name}/py")
            shutil.rmtree(f"{name}/py{Path(ringsched.__file__).parent}")
        environment = os.environ | {"NUMBA_CACHE_DIR": f"{name}/kernels", "PYTHONPYCACHEPREFIX": f"{name}/py"}
        environment.pop("RINGSCHED_KERNELS", None)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        yield environment


def _seconds(environment: dict[str, str], *arguments: str) -> float:
    command = [sys.executable, "-m", "ringsched", *arguments]
    started = time.perf_counter()
    subprocess.run(command, env=environment, capture_output=True, check=True)
    return time.perf_counter() - started


def _search(environment: dict[str, str], scenario: Path, output: Path) -> tuple[float, float]:
    """Return when the first plan of a search is written, and when the command ends."""
    command = [sys.executable, "-m", "ringsched", "plan", str(scenario), "-o", str(output), *LIMIT]
    started = time.perf_counter()
    first_s = None
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            if first_s is None and output.exists():
                first_s = time.perf_counter() - started
            time.sleep(LOOK_S)
        all_s = time.perf_counter() - started
    if process.returncode != 0:
        raise RuntimeError(f"the search ended with exit code {process.returncode}")
    return all_s if first_s is None else first_s, all_s
