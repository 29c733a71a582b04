"""Workers: killed at the limit, replaced when gone, none left behind."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from tests.web.conftest import HANGS_S, Served, ended, hear_ctrl_c, started, workers_of
from tests.web.hostile import JSON

import ringsched
from ringsched.web import pool as process
from ringsched.web import work, worker
from ringsched.web.limits import Limits
from ringsched.web.pool import Errand, NobodyIsFree, Pool, TimeIsUp, WorkerBroke, WorkerEnded, WorkerProcess
from ringsched.web.searches import Searches
from ringsched.web.worker import SEARCH, STOP

pytestmark = pytest.mark.compiled

LIMITS = Limits(workers=1, searches=1, work_s=HANGS_S)


def body(policy: str, num_jobs: int = 10, **options: Any) -> bytes:
    cluster = ringsched.Cluster.of_servers(10, switches=2)
    scenario = ringsched.generate(ringsched.Workload.uniform(jobs=num_jobs, cluster=cluster))
    return json.dumps({"scenario": scenario.expanded(), "policy": policy, **options}).encode()


def with_pool(use: Callable[[Pool], Awaitable[None]]) -> None:
    """Use a pool of one worker, and see that nothing is left of it."""

    before = workers_of(os.getpid())  # of a server that other tests use

    async def go() -> None:
        pool = Pool(LIMITS, 1, warm=1)
        await pool.start()
        try:
            await asyncio.wait_for(use(pool), HANGS_S)
        finally:
            await pool.stop()

    asyncio.run(go())
    assert workers_of(os.getpid()) == before


class Frozen:
    """A worker that does nothing any more, however fast or slow the machine is."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    def __call__(self, errand: Errand) -> None:
        assert errand.process.pid is not None
        os.kill(errand.process.pid, signal.SIGSTOP)
        self.begun.set()


def test_what_takes_too_long_is_killed_and_the_next_is_served() -> None:
    async def use(pool: Pool) -> None:
        before = workers_of(os.getpid())
        with pytest.raises(TimeIsUp):
            await pool.run("plan", body("first-fit"), time_limit_s=0.5, on_start=Frozen())
        reply = await pool.run("plan", body("first-fit"), time_limit_s=HANGS_S)
        assert reply.status == 200
        assert before != workers_of(os.getpid())

    with_pool(use)


def test_a_worker_starts_even_if_the_compiler_takes_the_time_of_a_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned, original = [], ringsched.plan

    def plan(scenario: ringsched.Scenario, policy: str, **_: Any) -> ringsched.Plan:
        planned.append(policy)
        if policy == "exact":
            raise ringsched.TooLarge("no proof within 1 min", lower_bound_s=1.0)
        return original(scenario, "longest-first")

    monkeypatch.setattr(work.api, "plan", plan)
    work.warm_up()
    assert planned == [policy.name for policy in ringsched.list_policies()]


def test_a_worker_that_dies_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether by somebody, when trying again may help, or for want of memory, when it will not."""

    async def use(pool: Pool) -> None:
        def kill(errand: Errand) -> None:
            assert errand.process.pid is not None
            os.kill(errand.process.pid, signal.SIGKILL)

        def kill_for_memory(errand: Errand) -> None:
            before = process.num_oom_kills()
            monkeypatch.setattr(process, "num_oom_kills", lambda: before + 1)
            kill(errand)

        for killer, end in ((kill, WorkerEnded), (kill_for_memory, WorkerBroke)):
            with pytest.raises(WorkerEnded) as ended:
                await pool.run("plan", body("first-fit"), time_limit_s=HANGS_S, on_start=killer)
            assert ended.type is end
        assert (await pool.run("plan", body("first-fit"), time_limit_s=HANGS_S)).status == 200

    with_pool(use)


@pytest.mark.parametrize(
    ("exit_code", "memory_ran_out", "end"),
    [
        (-signal.SIGKILL, False, WorkerEnded),
        (-signal.SIGKILL, True, WorkerBroke),
        (-signal.SIGTERM, True, WorkerEnded),
        (-signal.SIGSEGV, False, WorkerBroke),
        (-signal.SIGABRT, False, WorkerBroke),
        (1, False, WorkerBroke),
        (0, False, WorkerEnded),
        (None, False, WorkerEnded),
    ],
)
def test_how_a_worker_ended_says_whether_to_try_again(
    exit_code: int | None, memory_ran_out: bool, end: type[WorkerEnded]
) -> None:
    assert type(process.why_it_ended(exit_code, memory_ran_out)) is end


def test_work_that_is_given_up_frees_its_worker() -> None:
    async def use(pool: Pool) -> None:
        frozen = Frozen()
        task = asyncio.create_task(pool.run("plan", body("first-fit"), time_limit_s=600, on_start=frozen))
        await frozen.begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await pool.run("plan", body("first-fit"), time_limit_s=HANGS_S)).status == 200

    with_pool(use)


def test_a_worker_that_held_much_memory_makes_way_for_a_fresh_one() -> None:
    async def go() -> None:
        pool = Pool(Limits(worker_bytes=1), 1, warm=1)
        await pool.start()
        pids = set()

        def note(errand: Errand) -> None:
            pids.add(errand.process.pid)

        try:
            for _ in range(2):
                assert (
                    await pool.run("plan", body("first-fit"), time_limit_s=HANGS_S, on_start=note)
                ).status == 200
        finally:
            await pool.stop()
        assert len(pids) == 2

    asyncio.run(go())


def test_a_worker_may_take_longer_to_start_than_a_request_to_be_answered() -> None:
    """As on a busy machine: no worker starts within the hundredth of a second a request has here."""

    async def go() -> None:
        pool = Pool(Limits(work_s=0.01), 1, warm=0)
        try:
            assert (await pool.run("plan", body("first-fit"), time_limit_s=HANGS_S)).status == 200
        finally:
            await pool.stop()

    asyncio.run(go())


def test_a_worker_that_is_free_at_the_last_moment_is_taken() -> None:
    async def go() -> None:
        pool = Pool(Limits(work_s=0.0), 1, warm=1)  # so that waiting is over before it begins
        await pool.start()
        try:
            assert (await pool.run("plan", body("first-fit"), time_limit_s=HANGS_S)).status == 200
        finally:
            await pool.stop()

    asyncio.run(go())


def test_a_worker_that_never_starts_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    def does_not_start(_: WorkerProcess) -> None:
        raise WorkerEnded

    monkeypatch.setattr(WorkerProcess, "wait_until_ready", does_not_start)
    monkeypatch.setattr(process, "START_S", 0.1)
    monkeypatch.setattr(process, "AGAIN_S", 0.01)

    async def go() -> None:
        pool = Pool(Limits(work_s=0.01), 1, warm=0)
        try:
            with pytest.raises(NobodyIsFree):
                await pool.run("plan", body("first-fit"), time_limit_s=HANGS_S)
        finally:
            await pool.stop()

    asyncio.run(go())


def test_who_waits_for_a_worker_too_long_is_told_so() -> None:
    async def go() -> None:
        pool = Pool(Limits(work_s=0.5), 1, warm=1)
        await pool.start()
        try:
            frozen = Frozen()
            long = pool.run("plan", body("first-fit"), time_limit_s=600, on_start=frozen)
            busy = asyncio.create_task(long)
            await frozen.begun.wait()
            with pytest.raises(NobodyIsFree):
                await pool.run("plan", body("first-fit"), time_limit_s=HANGS_S)
            busy.cancel()
            await asyncio.gather(busy, return_exceptions=True)
        finally:
            await pool.stop()

    asyncio.run(go())


@pytest.mark.slow
def test_too_much_memory_is_refused_and_the_worker_lives_on() -> None:
    """A text that is no text of ours, but large: what it needs in the end is more than there is."""
    tight = Limits(memory_bytes=1200 * 2**20, body_bytes=2**31)

    async def go() -> None:
        pool = Pool(tight, 1, warm=1)
        await pool.start()
        try:
            numbers = b'{"text": "", "format": [' + b"[]," * 20_000_000 + b"[]]}"
            reply = await pool.run("check_scenario", numbers, time_limit_s=60)
            assert reply.status == 413
            assert b"memory" in reply.content
            assert (await pool.run("plan", body("first-fit"), time_limit_s=HANGS_S)).status == 200
        finally:
            await pool.stop()

    asyncio.run(go())


def test_a_search_that_is_stopped_has_a_plan_and_its_worker_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringsched.web.searches.GRACE_S", 60.0)  # on a busy machine a moment may be long

    async def use(pool: Pool) -> None:
        searches = Searches(pool, LIMITS)
        search = searches.start(body("search", 200, time_limit_s=HANGS_S))
        while b'"plan"' not in search.content():
            assert search.state == "running", search.content()
            await asyncio.sleep(0.05)
        assert json.loads(search.content())["state"] == "running"
        assert search.errand is not None
        pid = search.errand.process.pid
        await searches.stop(search)
        answer = json.loads(search.content())
        assert answer["state"] == "stopped"
        assert len(answer["plan"]["jobs"]) == 200
        assert answer["progress"]["gap"] >= 1
        pids: list[int | None] = []

        def note(errand: Errand) -> None:
            pids.append(errand.process.pid)

        await pool.run("plan", body("first-fit"), time_limit_s=HANGS_S, on_start=note)
        assert pids == [pid]
        events = b"".join([event async for event in search.events()])
        assert events.startswith(b'event: end\ndata: {"state": "stopped"')
        assert b'"pictures": {"format"' in events

    with_pool(use)


def test_a_search_that_is_stopped_before_it_began_ends_at_once_and_its_worker_stays() -> None:
    async def use(pool: Pool) -> None:
        asked = body("search", 200, time_limit_s=600)
        reply = await pool.run(SEARCH, asked, time_limit_s=60, on_start=lambda errand: errand.stop())
        assert reply.status == 200

    with_pool(use)


def test_a_wish_to_stop_is_meant_for_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may come before its request, and when the next has begun already."""
    over = threading.Event()
    monkeypatch.setattr(worker.os, "_exit", lambda _: over.set())
    ours, theirs = multiprocessing.Pipe()
    try:
        inbox = worker._Inbox(theirs)
        for message in ((SEARCH, b"", 2), (STOP, 1), (STOP, 3), (SEARCH, b"", 3), (SEARCH, b"", 4)):
            ours.send(message)
        numbers = [inbox.next()[2] for _ in range(3)]
        assert numbers == [2, 3, 4]
        assert [inbox.is_stopped(number) for number in numbers] == [False, True, False]
    finally:  # while it cannot end the tests
        ours.close()
        over.wait()


def test_a_wish_to_stop_is_not_mixed_up_with_a_request_that_is_being_sent() -> None:
    class Watched:
        """A connection that is slow to send, and sees whether it is asked twice at once."""

        def __init__(self) -> None:
            self.sent: list[Any] = []
            self.met, self.num_inside, self.begun = False, 0, threading.Event()

        def send(self, message: Any) -> None:
            self.num_inside += 1
            self.begun.set()
            time.sleep(0.1)
            self.met = self.met or self.num_inside > 1
            self.num_inside -= 1
            self.sent.append(message)

    asked = object.__new__(WorkerProcess)
    asked._sending = threading.Lock()
    asked._connection = watched = Watched()  # type: ignore[assignment]
    request = threading.Thread(target=asked.send, args=(SEARCH, b"", 1))
    request.start()
    assert watched.begun.wait(HANGS_S)
    Errand(asked, 1).stop()
    request.join()
    assert watched.sent == [(SEARCH, b"", 1), (STOP, 1)]
    assert not watched.met


def test_a_worker_is_not_tired_from_the_size_of_its_server() -> None:
    """The peak that getrusage tells begins with that of the process that started it."""
    ballast = b"x" * 300_000_000
    code = "from ringsched.web.worker import _peak_bytes; print(_peak_bytes())"
    peak = int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert 0 < peak < len(ballast)


def test_a_search_that_does_not_listen_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies that bisect hear nothing; nor does a search in the middle of a kernel, nor this one."""
    monkeypatch.setattr("ringsched.web.searches.GRACE_S", 0.2)

    class Freezing:
        """A pool whose worker is frozen before it gets the search."""

        def __init__(self, pool: Pool) -> None:
            self._pool = pool

        async def run(self, *given: Any, on_start: Callable[[Errand], None], **options: Any) -> Any:
            def freeze(errand: Errand) -> None:
                Frozen()(errand)
                on_start(errand)

            return await self._pool.run(*given, on_start=freeze, **options)

    async def use(pool: Pool) -> None:
        searches = Searches(Freezing(pool), LIMITS)  # type: ignore[arg-type]
        search = searches.start(body("sjf-bco"))
        while search.errand is None:
            await asyncio.sleep(0)
        await searches.stop(search)
        assert json.loads(search.content()) == {"state": "stopped", "progress": None}
        assert (await pool.run("plan", body("first-fit"), time_limit_s=HANGS_S)).status == 200

    with_pool(use)


def test_a_worker_that_is_ready_has_all_kernels() -> None:
    """The first search of a new installation waits for no compiler, which takes longer than a request may."""
    code = """if True:
        import gc, os
        os.environ["RINGSCHED_KERNELS"] = "compiled"
        from numba.core.dispatcher import Dispatcher
        import ringsched
        from ringsched.web.examples import example_scenario
        from ringsched.web.work import warm_up

        def loaded():
            kernels = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
            return {kernel.py_func.__qualname__ for kernel in kernels if kernel.signatures}

        warm_up()
        before = loaded()
        for policy in ringsched.list_policies():
            stop = ringsched.Stop(max_schedules=100) if policy.name == "search" else None
            ringsched.plan(example_scenario("small"), policy.name, stop=stop)
        print(sorted(loaded() - before))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"


def searching(server: Served, client: httpx.Client) -> list[psutil.Process]:
    """Have a search run, and return all workers."""
    content = body("search", 200, time_limit_s=100)
    name = client.post("/searches", content=content, headers=JSON).json()["id"]
    while (answer := client.get(f"/searches/{name}").json())["progress"] is None:
        assert answer["state"] == "running", answer
        time.sleep(0.1)
    return workers_of(server.process.pid)


def test_workers_end_when_the_server_is_killed() -> None:
    """Not even SIGKILL leaves one behind, idle or at work."""
    server = started("--workers", "1")
    with httpx.Client(base_url=f"{server.url}/api/v1", timeout=HANGS_S) as client:
        workers = searching(server, client)
        assert ended(server, signal.SIGKILL) == -signal.SIGKILL
    assert len(workers) >= 2
    assert psutil.wait_procs(workers, timeout=HANGS_S)[1] == []


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow),
    ],  # endurance ends so too
)
def test_the_server_ends_in_order_with_work_on_its_hands(number: int, code: int) -> None:
    server = started("--workers", "1")
    with httpx.Client(base_url=f"{server.url}/api/v1", timeout=HANGS_S) as client:
        workers = searching(server, client)
        assert ended(server, number) == code
    assert psutil.wait_procs(workers, timeout=HANGS_S)[1] == []


# Python runs this first in every process: here it keeps workers from ever being ready.
NEVER_READY = """
import sys, time
if "spawn_main" in " ".join(sys.orig_argv):
    time.sleep(3600)
"""


def test_ctrl_c_before_all_has_started(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(NEVER_READY)
    folders = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-m", "ringsched", "serve", "--port", "0"]
    options: dict[str, Any] = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "env": os.environ | {"PYTHONPATH": os.pathsep.join(folders)},
    }
    with subprocess.Popen(command, **options, text=True, preexec_fn=hear_ctrl_c) as process:
        while not (workers := workers_of(process.pid)):
            time.sleep(0.02)
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANGS_S)
    assert (process.returncode, out, err) == (130, "", "Error: interrupted\n")
    assert psutil.wait_procs(workers, timeout=HANGS_S)[1] == []
