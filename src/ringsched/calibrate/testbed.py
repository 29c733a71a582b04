"""`Testbed`: servers of namespaces on this machine, on which jobs run for real."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from ringsched.calibrate.bed_jobs import BlockRun, JobRun, TestJob, Traffic
from ringsched.calibrate.fabric import MOST_JOBS, PAYLOAD, PORTS_PER_JOB
from ringsched.calibrate.noise import Noise, cpu_times, steal_between
from ringsched.calibrate.peers import RingBroken
from ringsched.calibrate.rights import PRIVATE, check_rights
from ringsched.calibrate.worker import Iteration
from ringsched.errors import InputError
from ringsched.model.checks import integer, number

MOST_SERVERS = 64
PATIENCE_S = 30.0  # beyond what a block should take, before it is given up
_PR_SET_PDEATHSIG = 1


class Testbed:
    """A network of one's own, for the time of a `with`; nothing of it survives this process.

    Parameters
    ----------
    servers
        How many, from 1 to 64.
    mbps
        Speed of every uplink, each way, in Mbit/s of frames; 1448 of 1514 bytes of those are payload.
    timeout_s
        How long a worker may be silent.
    """

    __test__ = False

    def __init__(self, servers: int, mbps: float, *, timeout_s: float = 20.0) -> None:
        self.servers = integer(servers, "--servers", minimum=1, maximum=MOST_SERVERS)
        self.mbps = number(mbps, "--mbps", minimum=1, maximum=100_000)
        self.timeout_s = timeout_s
        check_rights()

    @property
    def payload_gbps(self) -> float:
        """What a link carries of the jobs' own bytes."""
        return self.mbps * PAYLOAD * 1e-3

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [*PRIVATE, sys.executable, "-m", "ringsched.calibrate.inside"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"},
            preexec_fn=_die_with_parent,
            start_new_session=True,  # Ctrl-C is for us to answer
        )
        self._rest = b""
        try:
            self._ask({"servers": self.servers, "mbps": self.mbps}, PATIENCE_S)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End everything in the testbed."""
        self._process.kill()  # unshare, which takes the first process inside along, and that one all others
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait()

    def run(self, jobs: Sequence[TestJob]) -> BlockRun:
        """Run jobs at the same time, each from its own start on."""
        for job in jobs:
            self._check(job)
        integer(len(jobs), "number of jobs", minimum=1, maximum=MOST_JOBS)
        asked = [
            {
                "placement": job.placement,
                "message_mb": job.message_mb,
                "compute_s": job.compute_s,
                "start_s": job.start_s,
                "iterations": job.iterations,
                "seconds": job.seconds,
                "timeout_s": self.timeout_s,
            }
            for job in jobs
        ]
        before = cpu_times()
        said = self._ask({"jobs": asked}, PATIENCE_S + sum(self._most_s(job) for job in jobs))
        steal = steal_between(before, cpu_times())
        runs, shares = [], []
        for at, job in enumerate(jobs):
            workers = sorted(
                (each for each in said["workers"] if each["job"] == at), key=lambda each: int(each["rank"])
            )
            iterations = [Iteration(*each) for each in workers[0]["iterations"]]
            length_s = iterations[-1].start_s + iterations[-1].seconds - iterations[0].start_s
            shares += [each["waited_s"] / length_s for each in workers]
            since = [each._replace(start_s=each.start_s - said["begin_s"]) for each in iterations]
            sent = tuple(each["sent_bytes"] for each in workers)
            runs.append(JobRun(job=job, iterations=tuple(since), sent_bytes=sent))
        again: dict[int, int] = {}  # by server: its workers share a network, so they count the same
        for each in said["workers"]:
            server = jobs[each["job"]].placement[each["rank"]]
            again[server] = max(again.get(server, 0), each["segments_again"])
        traffic = Traffic(said["wire_bytes"], sum(again.values()))
        return BlockRun(jobs=tuple(runs), noise=Noise(steal, max(shares)), traffic=traffic)

    def _check(self, job: TestJob) -> None:
        if not 2 <= len(job.placement) <= PORTS_PER_JOB:
            raise InputError(f"must have 2 to {PORTS_PER_JOB} workers, not {len(job.placement)}", field="job")
        for server in job.placement:
            if not 0 <= server < self.servers:
                raise InputError(f"names server {server}, but there are 0 to {self.servers - 1}", field="job")

    def _most_s(self, job: TestJob) -> float:
        """Return what a job may take at the very most."""
        if job.seconds is not None:
            return job.start_s + 2 * job.seconds
        each_s = job.compute_s + MOST_JOBS * 2 * job.message_mb * 8e-3 / self.payload_gbps
        return job.start_s + 2 * (job.iterations or 0) * each_s

    def _ask(self, content: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(content).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise RingBroken("the testbed ended by itself") from None
        reading = self._process.stdout.fileno()
        while b"\n" not in self._rest:
            if not select.select([reading], [], [], timeout_s)[0]:
                raise RingBroken(f"the testbed has not answered for {timeout_s:.0f} s")
            part = os.read(reading, 1 << 20)
            if not part:
                raise RingBroken("the testbed ended by itself")
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RingBroken(f"on the testbed: {answer['error']}")
        return answer


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
