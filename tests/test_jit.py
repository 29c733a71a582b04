"""How kernels run, and the cache of compiled ones: safe among threads, and it does not grow for ever."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import numba
import numpy as np
import pytest

import ringsched
from ringsched import jit, numba_cache, numba_compiler

DAY_S = 24 * 3600


def test_threads_that_compile_kernels_leave_the_setting_of_numba_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    both_inside = Barrier(2)

    def slow(function: Any, **_options: Any) -> Any:
        try:
            both_inside.wait(timeout=0.3)
        except BrokenBarrierError:
            return function  # the other one waits outside, as it should
        time.sleep(0.1 if function.__name__ == "second" else 0)
        return function

    @jit.kernel
    def first() -> None: ...

    @jit.kernel
    def second() -> None: ...

    first.__module__ = second.__module__ = "ringsched.engine.events"
    monkeypatch.setattr(numba, "njit", slow)
    monkeypatch.setattr(numba_compiler, "share_among_calls", lambda _dispatcher: None)
    monkeypatch.setattr(jit, "cache_directory", lambda _package: str(tmp_path))
    before = numba.config.CACHE_DIR
    threads = [Thread(target=jit.compiled, args=(function,)) for function in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not both_inside.n_waiting
    assert before == numba.config.CACHE_DIR


LIMIT = 10


@jit.part
def _capped(value: int) -> int:
    return min(value, LIMIT)


@jit.python_only
def _told(values: list[int]) -> None:
    values.append(-1)


@jit.kernel
def _capped_sum(values: Any) -> int:
    total = 0
    for value in values:
        total += _capped(value)
    return total


@jit.kernel
def _told_once(values: Any) -> int:
    _told(values)
    return len(values)


def test_a_kernel_runs_as_it_reads_and_compiled() -> None:
    numbers = np.array([3, 20, 5])
    assert _capped_sum(numbers) == jit.compiled(_capped_sum)(numbers) == 18
    assert jit.runnable(_capped_sum, python=True) is _capped_sum


@pytest.mark.compiled
def test_what_is_for_python_only_is_nothing_to_a_compiled_kernel() -> None:
    assert _told_once([1, 2]) == 3
    assert jit.compiled(_told_once)(np.array([1, 2])) == 2


def test_an_attribute_that_is_called_like_a_kernel_is_no_call_of_it() -> None:
    """A kernel named like a field it reads was compiled as a part of itself, without end."""
    from ringsched.contention.traffic import alone_gbps

    assert jit.compiled(alone_gbps) is not alone_gbps or jit.runnable(alone_gbps, python=True) is alone_gbps


def folder(base: Path, name: str, *, days: float) -> Path:
    made = base / name
    made.mkdir()
    (made / "kernel.nbc").write_bytes(b"code")
    os.utime(made, (time.time() - days * DAY_S,) * 2)
    return made


def test_folders_of_kernels_are_removed_after_a_month_without_use(tmp_path: Path) -> None:
    used = folder(tmp_path, f"kernels-{'0' * 16}", days=400)
    old = folder(tmp_path, f"kernels-{'1' * 16}", days=31)
    recent = folder(tmp_path, f"kernels-{'2' * 16}", days=29)
    others = folder(tmp_path, "kernels-of-somebody", days=400)
    numba_cache._prune(used)
    assert set(tmp_path.iterdir()) == {used, recent, others}
    assert (used / "kernel.nbc").exists()
    assert time.time() - used.stat().st_mtime < DAY_S
    assert not old.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other habits")
@pytest.mark.parametrize(("xdg", "folder"), [("/xdg", "/xdg/ringsched"), ("", "/home/ada/.cache/ringsched")])
def test_the_cache_is_where_linux_has_caches(monkeypatch: pytest.MonkeyPatch, xdg: str, folder: str) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    assert numba_cache._user_cache() == Path(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other habits")
def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert numba_cache._user_cache() is None


def test_a_cache_that_cannot_be_tidied_stops_nobody(tmp_path: Path) -> None:
    numba_cache._prune(tmp_path / "absent" / f"kernels-{'0' * 16}")
    (tmp_path / f"kernels-{'3' * 16}").symlink_to(tmp_path / "nowhere")
    numba_cache._prune(tmp_path / f"kernels-{'0' * 16}")


def test_a_package_is_compiled_again_only_for_what_its_kernels_may_call(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("model", *numba_cache._USED):
        (tmp_path / name).mkdir()
    for name in ("checks.py", "objective.py"):
        (tmp_path / "model" / name).write_text("")
    monkeypatch.setattr(numba_cache, "_PACKAGE", tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    def folders() -> dict[str, str | None]:
        return {package: numba_cache.cache_directory.__wrapped__(package) for package in numba_cache._USED}

    before = folders()
    (tmp_path / "rules" / "rule.py").write_text("changed")
    after = folders()
    changed = {package for package in numba_cache._USED if before[package] != after[package]}
    assert changed == {"rules", "search", "online"}


def _in_a_fresh_process(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name != "RINGSCHED_KERNELS"}
    return subprocess.run(
        [sys.executable, "-c", code], env=clean | environment, capture_output=True, text=True, check=False
    )


SMALL = """
import sys, ringsched
scenario = ringsched.load_scenario("examples/first.toml")
for policy in ("search", "sjf-bco", "longest-first"):
    plan = ringsched.plan(scenario, policy)
ringsched.explain(scenario, plan)
ringsched.simulate(scenario, backfill="easy")
assert ringsched.verify(scenario, plan).valid
print(sorted(name for name in ("numba", "llvmlite") if name in sys.modules))
"""


# A search that could go on for seconds loads its kernel if it is in the cache.
MARKED = """
from ringsched import numba_cache
from ringsched.compiling import KERNELS
for name in KERNELS:
    numba_cache.kept_mark(name).touch()
"""


@pytest.mark.parametrize("code", [SMALL, MARKED + SMALL.replace('"search", ', "")], ids=["cold", "warm"])
def test_small_problems_do_not_load_the_compiler(code: str, tmp_path: Path) -> None:
    done = _in_a_fresh_process(code, XDG_CACHE_HOME=str(tmp_path), NUMBA_CACHE_DIR="")
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert not list(tmp_path.rglob("*.nbi"))  # and nothing was compiled


def test_a_wrong_setting_of_kernels_is_refused_in_one_sentence() -> None:
    code = "from ringsched.cli import main; main(['plan', 'examples/first.toml'])"
    done = _in_a_fresh_process(code, RINGSCHED_KERNELS="fast")
    assert done.returncode == 2
    assert "RINGSCHED_KERNELS must be python or compiled, not 'fast'" in done.stderr


class _Compiler:
    """Another process that compiles, done when it is told."""

    def __init__(self) -> None:
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode


@pytest.mark.compiled
def test_work_goes_on_as_plain_python_until_the_kernel_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RINGSCHED_KERNELS", raising=False)
    entry, compiler, numbers = jit._Entry(_capped_sum), _Compiler(), np.array([3, 20, 5])
    monkeypatch.setattr(entry, "_is_for_another_process", lambda: True)
    monkeypatch.setattr(entry, "_start_compiler", lambda: setattr(entry, "_compiler", compiler))
    monkeypatch.setattr(entry, "_asked_s", time.monotonic())
    entry.call(0.1, 0.1, numbers)
    assert not entry.is_compiling  # for so little work nobody compiles
    entry.call(jit.ENOUGH_TO_COMPILE_S + 1, 0.1, numbers)
    assert entry.is_compiling
    assert not entry.is_compiled
    compiler.returncode = 0
    assert entry.call(jit.ENOUGH_TO_COMPILE_HERE_S + 1, 0.1, numbers) == 18
    assert entry.is_compiled


@pytest.mark.compiled
def test_results_do_not_depend_on_when_kernels_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = ringsched.generate(ringsched.Workload.paper(jobs=40), seed=3)
    stop = ringsched.Stop(max_schedules=200)
    asked = {"objective": "mean-completion", "stop": stop}
    compiled = ringsched.plan(scenario, **asked)
    monkeypatch.setenv("RINGSCHED_KERNELS", "python")
    assert ringsched.plan(scenario, **asked) == compiled
    monkeypatch.delenv("RINGSCHED_KERNELS")
    monkeypatch.setattr(jit, "_ENTRIES", {})
    monkeypatch.setattr(jit, "ENOUGH_S", 0.3)  # some of it as plain Python, the rest compiled
    assert ringsched.plan(scenario, **asked) == compiled


def test_every_kernel_that_python_calls_can_be_compiled_ahead() -> None:
    """`python -m ringsched.compiling` knows all of them by name."""
    from ringsched.compiling import KERNELS

    called = set()
    for path in (numba_cache._PACKAGE).rglob("*.py"):
        for name in re.findall(
            r"(?:runnable|runnable_with|with_own)\(\s*(\w+)", path.read_text(encoding="utf-8")
        ):
            called.add(name)
    called -= {"function"}
    assert called == {name.rsplit(".", 1)[1] for name in KERNELS}


def test_a_compiler_that_failed_or_takes_for_ever_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RINGSCHED_KERNELS", raising=False)
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    entry, compiler, numbers = jit._Entry(_capped_sum), _Compiler(), np.array([3, 20, 5])
    monkeypatch.setattr(entry, "_is_for_another_process", lambda: True)
    monkeypatch.setattr(entry, "_start_compiler", lambda: setattr(entry, "_compiler", compiler))
    monkeypatch.setattr(entry, "_asked_s", time.monotonic())
    entry.call(jit.ENOUGH_TO_COMPILE_S + 1, 0.1, numbers)
    assert entry.is_compiling
    monkeypatch.setattr(entry, "_asked_s", time.monotonic() - jit.LONGEST_S - 1)
    assert not entry.is_compiling
    compiler.returncode = 1
    assert entry.call(jit.ENOUGH_TO_COMPILE_S + 1, 0.1, numbers) == 18
    assert not entry.is_compiled  # for so little work it is not compiled here


def test_a_compiler_ends_with_the_process_it_compiles_for(tmp_path: Path) -> None:
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), jit.COMPILES: "x"}
    command = [sys.executable, "-m", "ringsched.compiling", "ringsched.rules.trial.run_trial"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as compiler:
        assert compiler.stdin is not None
        compiler.stdin.close()
        assert compiler.wait(timeout=60) == 1


def test_a_compiler_that_is_done_says_so_while_its_parent_goes_on(tmp_path: Path) -> None:
    """It was aborted, because a thread of it still read from the pipe."""
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), jit.COMPILES: "x"}
    command = [sys.executable, "-m", "ringsched.compiling", "ringsched.no.such.kernel"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as compiler:
        assert compiler.wait(timeout=60) == 2


def test_two_copies_of_the_source_have_marks_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    here = numba_cache._machine.__wrapped__()
    monkeypatch.setattr(numba_cache, "_PACKAGE", numba_cache._PACKAGE / "elsewhere")
    assert numba_cache._machine.__wrapped__() != here
