"""`Testbed`: servers as network namespaces on this machine, on which real rings run."""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, NamedTuple, Self

from ringsched.calibrate.namespaces import MOST_JOBS, MOST_WORKERS, PAYLOAD
from ringsched.calibrate.neighbours import RingBroken
from ringsched.calibrate.noise import Noise, cpu_times, steal_between
from ringsched.calibrate.worker import Iteration
from ringsched.errors import InputError, RingschedError
from ringsched.model.checks import integer, number

# Private user, network, mount and pid namespaces: their content ends with them, whichever process dies.
PRIVATE = (
    "unshare",
    "--user",
    "--map-root-user",
    "--net",
    "--mount",
    "--propagation",
    "private",
    "--pid",
    "--fork",
    "--kill-child",
)
PACKAGES = {"unshare": "util-linux", "ip": "iproute2", "tc": "iproute2"}
TIMEOUT_S = 20.0
_TRIAL = """
mount -t tmpfs tmpfs /run &&
ip netns add trial &&
ip link add bridge type bridge &&
ip link add port type veth peer name eth0 netns trial &&
ip link set port master bridge up &&
tc qdisc add dev port root handle 1: htb default 1 &&
tc class add dev port parent 1: classid 1:1 htb rate 100mbit &&
tc filter add dev port parent 1: protocol ip prio 1 u32 match ip src 10.77.0.0/24 flowid 1:1
"""


class NoRights(RingschedError):
    """The testbed cannot be created here; the message names what is missing."""


def check_rights() -> None:
    """Raise `NoRights` unless a small trial testbed can be created."""
    if sys.platform != "linux":
        raise NoRights("the testbed needs Linux: it is made of network namespaces")
    for program, package in PACKAGES.items():
        if shutil.which(program) is None:
            raise NoRights(f"the testbed needs the program {program} (package {package})")
    try:
        done = subprocess.run(
            [*PRIVATE, "sh", "-c", _TRIAL], capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise NoRights(f"the testbed cannot be made: no trial network after {TIMEOUT_S:g} s") from None
    if done.returncode != 0:
        said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise NoRights(
            f"the testbed cannot be made here: {said[:200]}; it needs user namespaces "
            "(sysctl user.max_user_namespaces, in a container also its seccomp profile) "
            "and the kernel's veth, bridge, sch_htb and cls_u32"
        )


SEGMENT_BYTES = 1514  # of a full frame


@dataclass(frozen=True, slots=True, kw_only=True)
class TestJob:
    """A job to be run: a worker on each server listed, in the order of the ring.

    Attributes
    ----------
    compute_s, backward_s
        Computation of an iteration, and the part of it that is the backward pass.
    start_s
        When it starts, after the start of the block.
    python
        A Python with torch: the job is a real DDP job with as many buckets as given. None, the default, is a
        plain ring that exchanges first and then computes.
    """

    __test__ = False  # to pytest: this is none

    placement: tuple[int, ...]
    message_mb: float
    compute_s: float = 0.0
    start_s: float = 0.0
    iterations: int | None = None
    seconds: float | None = None
    backward_s: float = 0.0
    buckets: int = 1
    python: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """What a job did: the iterations of its first worker, and the bytes each of its workers sent."""

    job: TestJob
    iterations: tuple[Iteration, ...]  # times since the start of the block
    sent_bytes: tuple[int, ...]


class Traffic(NamedTuple):
    """What all links carried during a block."""

    wire_bytes: int  # headers and acknowledgements included
    segments_again: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRun:
    """The results of jobs that ran at the same time."""

    jobs: tuple[JobRun, ...]
    noise: Noise
    traffic: Traffic

    @property
    def overhead(self) -> float | None:
        """Bytes on the wire over the jobs' own; None if nothing went over a link, and for DDP jobs."""
        if any(run.job.python is not None for run in self.jobs):
            return None  # what DDP sends before its first iteration is on the wire too
        crossing = sum(
            sent
            for run in self.jobs
            for sent, server, following in zip(
                run.sent_bytes,
                run.job.placement,
                (*run.job.placement[1:], run.job.placement[0]),
                strict=True,
            )
            if server != following
        )
        return self.traffic.wire_bytes / crossing if crossing else None

    @property
    def sent_again(self) -> float:
        """The share of the bytes on the wire that was sent again."""
        return self.traffic.segments_again * SEGMENT_BYTES / max(1, self.traffic.wire_bytes)


MOST_SERVERS = 64
PATIENCE_S = 30.0  # beyond what a block should take, before it is given up
_PR_SET_PDEATHSIG = 1


class Testbed:
    """A private network for the duration of a `with` block; it ends with this process.

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
            [*PRIVATE, sys.executable, "-m", "ringsched.calibrate.namespaces"],
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
        asked = [asdict(job) | {"timeout_s": self.timeout_s} for job in jobs]
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
        if not 2 <= len(job.placement) <= MOST_WORKERS:
            raise InputError(f"must have 2 to {MOST_WORKERS} workers, not {len(job.placement)}", field="job")
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
                raise RingBroken(f"the testbed has not responded for {timeout_s:.0f} s")
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
