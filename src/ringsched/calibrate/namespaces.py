"""What runs inside the private namespace: makes the servers, shapes their uplinks, runs blocks of jobs."""

from __future__ import annotations

import json
import os
import selectors
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ringsched.calibrate.neighbours import Address
from ringsched.calibrate.worker import run_worker
from ringsched.errors import RingschedError


def wire_bytes(num_servers: int) -> int:
    """Return what the shaped interfaces of all servers have sent so far, headers included."""
    return sum(_sent(server) for server in range(num_servers))


def _sent(server: int) -> int:
    command = ["tc", "-n", f"s{server}", "-s", "-j", "qdisc", "show", "dev", "eth0"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(json.loads(done.stdout)[0]["bytes"])


def segments_again(text: str | None = None) -> int:
    r"""Return how many segments were sent again in the network of this process; 0 where the kernel is silent.

    Examples
    --------
    >>> segments_again("Tcp: ActiveOpens RetransSegs\nTcp: 4 17")
    17
    """
    try:
        lines = (Path("/proc/self/net/snmp").read_text() if text is None else text).splitlines()
        names, values = [line.split() for line in lines if line.startswith("Tcp:")]
        return int(values[names.index("RetransSegs")])
    except (OSError, ValueError):
        return 0


MOST_JOBS = 8
MOST_WORKERS = 64  # of one job
FIRST_PORT = 20_000
PAYLOAD = 1448 / 1514  # of a full frame: what is left of a shaped rate for those who send
# A bucket must hold a segmentation-offload packet, and the tokens of a scheduling delay.
LEAST_BURST_BYTES = 75_000
# More than the largest segmentation-offload packet: else links are shared by packets, which differ in size.
QUANTUM_BYTES = 70_000
BURST_S = 3e-3
WINDOW_S = 20e-3  # of sending at full rate: bridges the moments in which a worker gets no core
LEAST_WINDOW_BYTES = 65_536
CLONE_NEWNET = 0x40000000


def address_of(job: int, server: int) -> str:
    """Return the address that the workers of a job have on a server.

    Every job has a subnet for itself, which identifies its packets whatever ports it uses.
    """
    return f"10.77.{job}.{server + 1}"


def interface_of(job: int) -> str:
    """Return the name under which a server knows the addresses of a job."""
    return f"eth0:{job}"


def build(num_servers: int, mbps: float) -> None:
    """Make the servers and shape their links to `mbps` each way."""
    _run(["mount", "-t", "tmpfs", "tmpfs", "/run"])
    _batch(["ip"], _links(num_servers))
    for server in range(num_servers):
        name = f"s{server}"
        _batch(
            ["ip", "-n", name],
            [
                "link set lo up",
                *(
                    f"addr add {address_of(job, server)}/24 dev eth0 label {interface_of(job)}"
                    for job in range(MOST_JOBS)
                ),
                "link set eth0 up",
            ],
        )
        _batch(["tc", "-n", name], _shaping("eth0", mbps))
        in_namespace(server, lambda: _settings(mbps))
    _batch(["tc"], [line for server in range(num_servers) for line in _shaping(f"port{server}", mbps)])


def enter(server: int) -> None:
    """Move this process into the network of a server."""
    handle = os.open(f"/run/netns/s{server}", os.O_RDONLY)
    try:
        if hasattr(os, "setns"):
            os.setns(handle, CLONE_NEWNET)
            return
        import ctypes  # Python before 3.12

        library = ctypes.CDLL(None, use_errno=True)
        if library.setns(handle, CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(handle)


def in_namespace(server: int, work: Callable[[], None]) -> None:
    """Call `work` in a child process within the network of a server."""
    child = os.fork()
    if child == 0:
        status = 1
        with suppress(Exception):
            enter(server)
            work()
            status = 0
        os._exit(status)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise OSError(f"the settings of server {server} cannot be made")


def _links(num_servers: int) -> Iterator[str]:
    yield "link set lo up"
    yield "link add bridge type bridge forward_delay 0 stp_state 0"
    yield "link set bridge up"
    for server in range(num_servers):
        yield f"netns add s{server}"
        yield f"link add port{server} type veth peer name eth0 netns s{server}"
        yield f"link set port{server} master bridge up"


def _shaping(device: str, mbps: float) -> Iterator[str]:
    """Give every job a separate class: a single queue shares unevenly, by up to 40 %."""
    burst = round(max(LEAST_BURST_BYTES, BURST_S * mbps * 1e6 / 8))
    each = mbps / (MOST_JOBS + 1)
    bucket = f"ceil {mbps}mbit burst {burst}b cburst {burst}b quantum {QUANTUM_BYTES}"
    yield f"qdisc add dev {device} root handle 1: htb default 99"
    yield f"class add dev {device} parent 1: classid 1:1 htb rate {mbps}mbit burst {burst}b cburst {burst}b"
    yield f"class add dev {device} parent 1:1 classid 1:99 htb rate {each}mbit {bucket}"
    for job in range(MOST_JOBS):
        yield f"class add dev {device} parent 1:1 classid 1:{10 + job} htb rate {each}mbit {bucket}"
        match = f"match ip src {address_of(job, -1)}/24"
        yield f"filter add dev {device} parent 1: protocol ip prio 1 u32 {match} flowid 1:{10 + job}"


def _settings(mbps: float) -> None:
    window = round(max(LEAST_WINDOW_BYTES, WINDOW_S * mbps * 1e6 / 8))
    network = Path("/proc/sys/net/ipv4")
    # The kernel's default may be bbr, which collapses behind such a bucket; reno is always there.
    (network / "tcp_congestion_control").write_text("reno")
    # Else a job that computed for a while begins as slowly as a new connection.
    (network / "tcp_slow_start_after_idle").write_text("0")
    # Else a job inherits the congestion window that an earlier one had at its address, and shares unevenly.
    (network / "tcp_no_metrics_save").write_text("1")
    (network / "tcp_wmem").write_text(f"4096 {window} {window}")
    (network / "tcp_rmem").write_text(f"4096 {16 * window} {16 * window}")


def _batch(program: list[str], lines: Iterable[str]) -> None:
    _run([*program, "-batch", "-"], "\n".join(lines) + "\n")


def _run(command: list[str], text: str = "") -> None:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {' '.join(done.stderr.split())[:300]}")


HEAD_START_S = 0.25  # for all workers of a block to find each other
BEGIN = struct.Struct("d")  # seconds of CLOCK_MONOTONIC


def main() -> None:
    """Serve until the input ends."""
    lines = _Lines()
    try:
        asked = json.loads(lines.next())
        build(asked["servers"], asked["mbps"])
        _answer({"ready": True})
    except OSError as error:
        _answer({"error": str(error)})
        return
    while line := lines.next():
        before = wire_bytes(asked["servers"])
        said = _block(json.loads(line), lines)
        _answer(said | {"wire_bytes": wire_bytes(asked["servers"]) - before})


class _Lines:
    """Standard input, line by line, without a buffer that would hide its end."""

    def __init__(self) -> None:
        self._rest = b""

    def next(self) -> str:
        while b"\n" not in self._rest:
            self.more()
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def more(self) -> None:
        part = os.read(0, 65_536)
        if not part:
            os._exit(0)  # ends every worker too
        self._rest += part


class _Gate:
    """Where the workers of a block wait until all of them are ready, and learn when they begin."""

    def __init__(self, num_workers: int) -> None:
        self.num_missing = self._num_workers = num_workers
        self.ready, self._tell_ready = os.pipe()
        self._begin, self._tell_begin = os.pipe()

    def fds(self) -> tuple[int, int]:
        """Return what a worker needs: where it writes a byte when ready, and reads its beginning from."""
        return self._tell_ready, self._begin

    def count(self) -> float | None:
        """Read who is ready; once all are, tell them when they begin, and return it."""
        self.num_missing -= len(os.read(self.ready, self.num_missing))
        if self.num_missing:
            return None
        begin_s = time.monotonic() + HEAD_START_S
        os.write(self._tell_begin, BEGIN.pack(begin_s) * self._num_workers)
        return begin_s

    def close(self) -> None:
        for descriptor in (self.ready, self._tell_ready, self._begin, self._tell_begin):
            os.close(descriptor)


class _Worker:
    """A child process that runs one rank of a job, and the pipe it answers through."""

    def __init__(
        self, job: int, rank: int, ring: list[Address], settings: dict[str, Any], gate: _Gate
    ) -> None:
        self.job, self.rank, self.text = job, rank, b""
        self.reading, writing = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.setpgrp()  # so that what it starts can be ended with it
            os.close(self.reading)
            _work(writing, ring, settings | {"job": job, "rank": rank, "gate": gate.fds()})
        os.close(writing)

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        os.close(self.reading)

    def said(self) -> dict[str, Any]:
        answer = json.loads(self.text) if self.text else {"error": "a worker died"}
        return {"job": self.job, "rank": self.rank} | answer


def _block(asked: dict[str, Any], lines: _Lines) -> dict[str, Any]:
    """Run the jobs of a block at the same time; return what every worker did, or the first error."""
    gate = _Gate(sum(len(settings["placement"]) for settings in asked["jobs"]))
    workers = []
    for job, settings in enumerate(asked["jobs"]):
        ring = [
            Address(address_of(job, server), FIRST_PORT + MOST_WORKERS * job + rank)
            for rank, server in enumerate(settings["placement"])
        ]
        workers += [_Worker(job, rank, ring, settings, gate) for rank in range(len(ring))]
    try:
        begin_s, answers = _gathered(workers, gate, lines)
    finally:
        gate.close()
    errors = [f"job {each['job']}: {each['error']}" for each in answers if "error" in each]
    return {"error": errors[0]} if errors else {"begin_s": begin_s, "workers": answers}


def _gathered(
    workers: list[_Worker], gate: _Gate, lines: _Lines
) -> tuple[float | None, list[dict[str, Any]]]:
    """Return when the block began, and what the workers said; the first error ends all of them."""
    begin_s: float | None = None
    by_pipe = {worker.reading: worker for worker in workers}
    answers = []
    with selectors.DefaultSelector() as selector:
        for reading in (0, gate.ready, *by_pipe):
            selector.register(reading, selectors.EVENT_READ)
        while by_pipe:
            for key, _ in selector.select():
                if key.fd == 0:
                    lines.more()
                elif key.fd == gate.ready:
                    begin_s = gate.count()
                    if begin_s is not None:
                        selector.unregister(gate.ready)
                elif part := os.read(key.fd, 1 << 20):
                    by_pipe[key.fd].text += part
                else:
                    selector.unregister(key.fd)
                    worker = by_pipe.pop(key.fd)
                    worker.end()
                    answers.append(worker.said())
                    if "error" in answers[-1]:
                        for other in by_pipe.values():
                            other.end()
                        return begin_s, answers
    return begin_s, answers


def _work(writing: int, ring: list[Address], settings: dict[str, Any]) -> None:
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        enter(settings["placement"][settings["rank"]])
        before = segments_again()
        said = (_ring_work if settings["python"] is None else _ddp_work)(ring, settings)
        said["segments_again"] = segments_again() - before
    except RingschedError as error:
        said = {"error": str(error)}
    except BaseException as error:
        said = {"error": f"a worker failed: {type(error).__name__}: {error}"}
    with os.fdopen(writing, "w") as file:
        json.dump(said, file)
    os._exit(0)


def _ring_work(ring: list[Address], settings: dict[str, Any]) -> dict[str, Any]:
    tell_ready, begin = settings["gate"]
    os.write(tell_ready, b".")
    (begin_s,) = BEGIN.unpack(os.read(begin, BEGIN.size))
    run = run_worker(
        settings["rank"],
        ring,
        message_mb=settings["message_mb"],
        compute_s=settings["compute_s"],
        iterations=settings["iterations"],
        seconds=settings["seconds"],
        timeout_s=settings["timeout_s"],
        start_at_s=begin_s + settings["start_s"],
    )
    return {"iterations": run.iterations, "sent_bytes": run.sent_bytes, "waited_s": run.waited_s}


def _ddp_work(ring: list[Address], settings: dict[str, Any]) -> dict[str, Any]:
    """Run a rank of a DDP job in a Python that has torch."""
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "GLOO_SOCKET_IFNAME": interface_of(settings["job"]),
        "MASTER_ADDR": ring[0].host,
        "MASTER_PORT": str(ring[0].port),
        "RANK": str(settings["rank"]),
        "WORLD_SIZE": str(len(ring)),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [settings["python"], str(Path(__file__).with_name("ddp_worker.py")), json.dumps(settings)],
        env=environment,
        pass_fds=settings["gate"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        said: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return {"error": f"a DDP rank failed: {last[:300]}"}
    if "error" not in said:
        # Exchange is what an iteration takes beyond its computation. A ring sends 2m(w-1)/w.
        exchanges = [(start_s, whole_s - settings["compute_s"]) for start_s, whole_s in said["iterations"]]
        said["iterations"] = [(*each, 0.0, settings["compute_s"]) for each in exchanges]
        sent_mb = 2 * settings["message_mb"] * (len(ring) - 1) / len(ring)
        said["sent_bytes"] = round(sent_mb * 1e6 * len(exchanges))
    return said


def _answer(content: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
