"""Servers as network namespaces on a bridge, their uplinks shaped both ways. Runs in a private namespace."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

MOST_JOBS = 8
PORTS_PER_JOB = 64
FIRST_PORT = 20_032  # a multiple of 64, so that six bits less name a job
PAYLOAD = 1448 / 1514  # of a full frame: what is left of a shaped rate for those who send
# A bucket must hold a segmentation-offload packet, and what comes due while nobody looks.
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
    """Give every job a class of its own: one queue for all shares unevenly, by up to 40 %."""
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
