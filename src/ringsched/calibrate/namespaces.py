"""What runs inside the private namespace: makes the servers, shapes their uplinks, runs blocks of jobs."""

from __future__ import annotations

import json
import os
import selectors
import signal
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
PORTS_PER_JOB = 64
FIRST_PORT = 20_032  # a multiple of 64, so that six bits less name a job
PAYLOAD = 1448 / 1514  # of a full frame: what is left of a shaped rate for those who send
# A bucket must hold a segmentation-offload packet, and the tokens of a scheduling delay.
LEAST_BURST_BYTES = 75_000
BURST_S = 3e-3
WINDOW_S = 20e-3  # of sending at full rate: bridges the moments in which a worker gets no core
LEAST_WINDOW_BYTES = 65_536
CLONE_NEWNET = 0x40000000


def address_of(server: int) -> str:
    """Return the address of a server."""
    return f"10.77.{server // 200}.{server % 200 + 1}"


def port_of(job: int, rank: int) -> int:
    """Return where a worker of a job listens."""
    return FIRST_PORT + PORTS_PER_JOB * job + rank


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
                f"addr add {address_of(server)}/16 dev eth0",
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
    bucket = f"ceil {mbps}mbit burst {burst}b cburst {burst}b quantum 15140"
    yield f"qdisc add dev {device} root handle 1: htb default 99"
    yield f"class add dev {device} parent 1: classid 1:1 htb rate {mbps}mbit burst {burst}b cburst {burst}b"
    yield f"class add dev {device} parent 1:1 classid 1:99 htb rate {each}mbit {bucket}"
    for job in range(MOST_JOBS):
        yield f"class add dev {device} parent 1:1 classid 1:{10 + job} htb rate {each}mbit {bucket}"
        for end in ("dport", "sport"):
            match = f"match ip {end} {port_of(job, 0)} 0xffc0"
            yield f"filter add dev {device} parent 1: protocol ip prio 1 u32 {match} flowid 1:{10 + job}"


def _settings(mbps: float) -> None:
    window = round(max(LEAST_WINDOW_BYTES, WINDOW_S * mbps * 1e6 / 8))
    network = Path("/proc/sys/net/ipv4")
    # The kernel's default may be bbr, which collapses behind such a bucket; reno is always there.
    (network / "tcp_congestion_control").write_text("reno")
    # Else a job that computed for a while begins as slowly as a new connection.
    (network / "tcp_slow_start_after_idle").write_text("0")
    (network / "tcp_wmem").write_text(f"4096 {window} {window}")
    (network / "tcp_rmem").write_text(f"4096 {16 * window} {16 * window}")


def _batch(program: list[str], lines: Iterable[str]) -> None:
    _run([*program, "-batch", "-"], "\n".join(lines) + "\n")


def _run(command: list[str], text: str = "") -> None:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {' '.join(done.stderr.split())[:300]}")


HEAD_START_S = 0.25  # for all workers of a block to find each other


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


def _block(asked: dict[str, Any], lines: _Lines) -> dict[str, Any]:
    """Run the jobs of a block at the same time; return what every worker did, or the first error."""
    begin_s = time.monotonic() + HEAD_START_S
    pipes: dict[int, tuple[int, int, int]] = {}  # reading end: child, job, rank
    for job, settings in enumerate(asked["jobs"]):
        ring = [
            Address(address_of(server), port_of(job, rank))
            for rank, server in enumerate(settings["placement"])
        ]
        for rank in range(len(ring)):
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(reading)
                _work(writing, rank, ring, settings, begin_s)
            os.close(writing)
            pipes[reading] = (child, job, rank)
    return {"begin_s": begin_s} | _gathered(pipes, lines)


def _work(writing: int, rank: int, ring: list[Address], settings: dict[str, Any], begin_s: float) -> None:
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        enter(settings["placement"][rank])
        before = segments_again()
        run = run_worker(
            rank,
            ring,
            message_mb=settings["message_mb"],
            compute_s=settings["compute_s"],
            iterations=settings.get("iterations"),
            seconds=settings.get("seconds"),
            timeout_s=settings["timeout_s"],
            start_at_s=begin_s + settings["start_s"],
        )
        said: dict[str, Any] = {
            "iterations": run.iterations,
            "sent_bytes": run.sent_bytes,
            "waited_s": run.waited_s,
            "segments_again": segments_again() - before,
        }
    except RingschedError as error:
        said = {"error": str(error)}
    except BaseException as error:
        said = {"error": f"a worker failed: {type(error).__name__}: {error}"}
    with os.fdopen(writing, "w") as file:
        json.dump(said, file)
    os._exit(0)


def _gathered(pipes: dict[int, tuple[int, int, int]], lines: _Lines) -> dict[str, Any]:
    texts = dict.fromkeys(pipes, b"")
    errors: list[str] = []
    with selectors.DefaultSelector() as selector:
        for reading in (0, *pipes):
            selector.register(reading, selectors.EVENT_READ)
        num_open = len(pipes)
        while num_open:
            for key, _ in selector.select():
                if key.fd == 0:
                    lines.more()
                elif part := os.read(key.fd, 1 << 20):
                    texts[key.fd] += part
                else:
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    os.waitpid(pipes[key.fd][0], 0)
                    num_open -= 1
    workers = []
    for reading, (_, job, rank) in pipes.items():
        said = json.loads(texts[reading]) if texts[reading] else {"error": "a worker died"}
        errors += [f"job {job}: {said['error']}"] if "error" in said else []
        workers.append({"job": job, "rank": rank} | said)
    return {"error": errors[0]} if errors else {"workers": workers}


def _answer(content: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
