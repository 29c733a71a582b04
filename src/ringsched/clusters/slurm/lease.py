"""One controller at a time, anywhere: a lease that lives in Slurm as a reservation without resources.

Each holder makes a reservation of the next generation, `ringsched-1`, `ringsched-2`, and so on. Slurm
accepts a name once, so two controllers cannot make the same. The holder moves the end of its reservation
ahead; when it stops, the reservation expires, and another controller makes the next one.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ringsched.clusters.slurm.commands import Commands
from ringsched.clusters.slurm.values import moment_s, table_rows
from ringsched.errors import AdapterError

TERM_S = 12
MARGIN_S = 2.0  # between the end of a lease and the next generation; clocks may differ by as much
RENEW_S = 3.0
_NAME = re.compile(r"ringsched-(\d+)")


class LeaseLost(Exception):
    """Another controller may be active: nothing may be changed."""


@dataclass(kw_only=True)
class Lease:
    """A lease on the cluster.

    Parameters
    ----------
    clock, monotonic
        The time in Unix seconds, and one that no operator changes and that passes while a machine sleeps.
    """

    commands: Commands
    clock: Callable[[], float] = time.time
    monotonic: Callable[[], float] = lambda: time.clock_gettime(time.CLOCK_BOOTTIME)
    _token: int = field(default_factory=lambda: 1 + secrets.randbelow(2**31 - 2), init=False)
    _name: str = field(default="", init=False)
    _until: float = field(default=0.0, init=False)  # by the monotonic clock
    _renewed: float = field(default=0.0, init=False)

    @property
    def is_held(self) -> bool:
        """Whether it is ours, by our own clock."""
        return self.left_s() > 0

    def left_s(self) -> float:
        """Return how long it is ours for certain, by our own clock."""
        return self._until - self.monotonic() if self._name else 0.0

    def acquire(self) -> bool:
        """Take the lease if no other controller has it; return whether it is ours."""
        if self.is_held:
            return self.renew()
        self._name = ""
        last, end_s = _latest(self._rows())
        if last and self.clock() < end_s + MARGIN_S:
            return False
        name = f"ringsched-{last + 1}"
        began = self.monotonic()
        try:
            self.commands.tell(
                "scontrol", "create", "reservation", f"ReservationName={name}", "StartTime=now",
                f"EndTime=now+{TERM_S}", f"Watts={self._token}", "Flags=ANY_NODES", "Users=root",
            )  # fmt: skip
        except AdapterError as error:
            if error.refused and "Duplicate" in str(error):
                return False
            if any(word in str(error) for word in ("permission", "Invalid user id")):
                problem = "the controller needs operator rights in Slurm to make reservations and place jobs"
                raise AdapterError(f"{problem}: {error}", refused=True) from None
            raise
        self._name = name
        return self._verified(began)

    def renew(self) -> bool:
        """Move the end ahead, and check that the lease is still ours."""
        if not self.is_held:
            return False
        began = self.monotonic()
        if began - self._renewed < RENEW_S:
            return True
        try:
            self.commands.tell("scontrol", "update", f"ReservationName={self._name}", f"EndTime=now+{TERM_S}")
        except AdapterError as error:
            if not error.refused:
                raise
            self._name = ""  # it is gone
            return False
        return self._verified(began)

    def check(self) -> None:
        """Raise unless we may change something now."""
        if not self.renew():
            raise LeaseLost("another controller may have taken over; nothing was changed")

    def release(self) -> None:
        """Give the lease back, so that the next controller need not wait for its end."""
        if self.is_held and self._verified(self._renewed):
            self.commands.tell("scontrol", "delete", f"ReservationName={self._name}")
        self._name = ""

    def _verified(self, began: float) -> bool:
        """Read the lease back: it is ours if Slurm has our token in the newest generation."""
        rows = self._rows()
        last, _ = _latest(rows)
        ours = rows.get(self._name, {})
        if self._name != f"ringsched-{last}" or ours.get("Watts") != str(self._token):
            self._name = ""
            return False
        self._renewed, self._until = began, began + TERM_S - MARGIN_S
        return self.is_held

    def _rows(self) -> dict[str, Mapping[str, str]]:
        text = self.commands.ask("scontrol", "show", "reservation", "--oneliner")
        return {row.get("ReservationName", ""): row for row in table_rows(text, "ReservationName")}


def _latest(rows: Mapping[str, Mapping[str, str]]) -> tuple[int, float]:
    """Return the newest generation and its end; (0, 0) if there is none.

    Examples
    --------
    >>> _latest({"ringsched-9": {"EndTime": "1970-01-01T00:00:05"}, "ringsched-x": {}})[0]
    9
    """
    found = [(int(name[1]), row) for key, row in rows.items() if (name := _NAME.fullmatch(key))]
    if not found:
        return 0, 0.0
    last, row = max(found, key=lambda pair: pair[0])
    return last, moment_s(row.get("EndTime", "")) or 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fenced:
    """Commands that change something only while the lease is held."""

    real: Commands
    lease: Lease

    def ask(self, *arguments: str) -> str:
        """Run a read-only command."""
        return self.real.ask(*arguments)

    def tell(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """Run a command that changes something."""
        self.lease.check()
        return self.real.tell(*arguments, environment=environment)


def held(
    lease: Lease,
    work: Callable[[Callable[[float], None]], None],
    *,
    wait: Callable[[float], None],
    say: Callable[[str], None],
    once: bool = False,
) -> None:
    """Do work that ends by itself while the lease is ours; wait for the lease before, and after a loss.

    Parameters
    ----------
    work
        It is given a function to wait, which renews the lease meanwhile.
    once
        Raise instead of waiting for another controller.
    """

    def patient(seconds: float) -> None:
        end = lease.monotonic() + seconds
        while (left := end - lease.monotonic()) > 0:
            wait(min(left, RENEW_S))
            lease.check()

    waits = False
    try:
        while True:
            try:
                if lease.acquire():
                    waits = False
                    work(patient)
                    return
            except LeaseLost as error:
                say(str(error))
            except AdapterError as error:
                if once or error.refused:
                    raise
                say(f"Slurm: {error}; retrying in {RENEW_S:g} s")
                wait(RENEW_S)
                continue
            if once:
                raise AdapterError("another controller is active; stop it first", refused=True)
            if not waits:
                say("waiting: another controller is active")
            waits = True
            wait(1.0)
    finally:
        with contextlib.suppress(AdapterError):
            lease.release()
