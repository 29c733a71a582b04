"""The cache of compiled kernels: safe among threads, and it does not grow for ever."""

from __future__ import annotations

import os
import time
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import pytest

from ringsched import jit

DAY_S = 24 * 3600


def test_threads_that_import_kernels_leave_the_setting_of_numba_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    both_inside = Barrier(2)

    def slow(function: Any, **_options: Any) -> Any:
        try:
            both_inside.wait(timeout=0.3)
        except BrokenBarrierError:
            return function  # the other one waits outside, as it should
        time.sleep(0.1 if function is second else 0)
        return function

    def first() -> None: ...

    def second() -> None: ...

    monkeypatch.setattr(jit, "_njit", slow)
    monkeypatch.setattr(jit, "_cache_folder", lambda _room: str(tmp_path))
    before = jit.config.CACHE_DIR
    threads = [Thread(target=jit.kernel, args=(function,)) for function in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not both_inside.n_waiting
    assert before == jit.config.CACHE_DIR


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
    jit._prune(used)
    assert set(tmp_path.iterdir()) == {used, recent, others}
    assert (used / "kernel.nbc").exists()
    assert time.time() - used.stat().st_mtime < DAY_S
    assert not old.exists()


def test_a_cache_that_cannot_be_tidied_stops_nobody(tmp_path: Path) -> None:
    jit._prune(tmp_path / "absent" / f"kernels-{'0' * 16}")
    (tmp_path / f"kernels-{'3' * 16}").symlink_to(tmp_path / "nowhere")
    jit._prune(tmp_path / f"kernels-{'0' * 16}")


def test_a_room_is_compiled_anew_only_for_what_its_kernels_may_call(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("model", *jit._ROOMS):
        (tmp_path / name).mkdir()
    (tmp_path / "model" / "checks.py").write_text("")
    monkeypatch.setattr(jit, "_PACKAGE", tmp_path)
    monkeypatch.setattr(jit.config, "CACHE_DIR", str(tmp_path))

    def folders() -> dict[str, str | None]:
        return {room: jit._cache_folder.__wrapped__(room) for room in jit._ROOMS}

    before = folders()
    (tmp_path / "placement" / "rule.py").write_text("changed")
    after = folders()
    changed = {room for room in jit._ROOMS if before[room] != after[room]}
    assert changed == {"placement", "search", "online"}
