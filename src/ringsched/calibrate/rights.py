"""Whether this machine and this user can make a network out of namespaces."""

from __future__ import annotations

import shutil
import subprocess
import sys

from ringsched.errors import RingschedError

# A user, network, mount and pid namespace of one's own: what is made in it ends with it, whoever dies.
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
tc filter add dev port parent 1: protocol ip prio 1 u32 match ip dport 1 0xffff flowid 1:1
"""


class NoRights(RingschedError):
    """The testbed cannot be made here; says what is missing."""


def check_rights() -> None:
    """Raise `NoRights` unless a small testbed can be made here, by making one: that takes a moment only."""
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
