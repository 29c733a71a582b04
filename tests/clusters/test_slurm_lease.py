"""One controller at a time: two leases on one Slurm, with every order of steps, deaths and pauses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import examples
from tests.slurm_double import SlurmDouble

from ringsched.clusters.slurm.lease import MARGIN_S, RENEW_S, TERM_S, Fenced, Lease, LeaseLost, held
from ringsched.errors import AdapterError


def lease_on(slurm: SlurmDouble) -> Lease:
    return Lease(commands=slurm, clock=slurm.clock, monotonic=slurm.clock)


def test_the_second_waits_until_the_first_has_expired() -> None:
    slurm = SlurmDouble({"a": 1})
    first, second = lease_on(slurm), lease_on(slurm)
    assert first.acquire()
    assert not second.acquire()
    slurm.now_s += TERM_S + MARGIN_S
    assert not first.is_held
    assert second.acquire()
    assert sorted(slurm.reservations) == ["ringsched-1", "ringsched-2"]
    with pytest.raises(LeaseLost):
        first.check()
    assert not first.acquire()


def test_fail_over_takes_less_than_20_seconds() -> None:
    slurm = SlurmDouble({"a": 1})
    first, second = lease_on(slurm), lease_on(slurm)
    assert first.acquire()
    slurm.now_s += RENEW_S
    assert first.renew()
    died_s = slurm.now_s
    while not second.acquire():
        slurm.now_s += 1
    assert TERM_S < slurm.now_s - died_s < 20


def test_one_that_renews_keeps_it() -> None:
    slurm = SlurmDouble({"a": 1})
    first, second = lease_on(slurm), lease_on(slurm)
    assert first.acquire()
    for _ in range(50):
        slurm.now_s += 5
        first.check()
        assert not second.acquire()


def test_one_that_gives_it_back_can_be_followed_at_once() -> None:
    slurm = SlurmDouble({"a": 1})
    first, second = lease_on(slurm), lease_on(slurm)
    assert first.acquire()
    first.release()
    assert second.acquire()
    first.release()  # it no longer has anything to give
    assert second.is_held
    second.check()


def test_one_whose_reservation_was_removed_or_forged_stops() -> None:
    slurm = SlurmDouble({"a": 1})
    lease = lease_on(slurm)
    assert lease.acquire()
    slurm.now_s += RENEW_S
    slurm.reservations["ringsched-1"]["Watts"] = "7"
    with pytest.raises(LeaseLost):
        lease.check()


def test_nothing_is_told_without_the_lease() -> None:
    slurm = SlurmDouble({"a": 1})
    slurm.add("", tasks=1)
    lease = lease_on(slurm)
    fenced = Fenced(real=slurm, lease=lease)
    with pytest.raises(LeaseLost):
        fenced.tell("scontrol", "release", "1")
    assert slurm.told == []
    assert lease.acquire()
    fenced.tell("scontrol", "release", "1")
    assert slurm.told[-1] == ("scontrol", "release", "1")
    assert fenced.ask("squeue")


class Interrupted(SlurmDouble):
    """Lets the others go on before any command of one controller."""

    before: Any = staticmethod(lambda: None)

    def tell(self, *words: str, **more: Any) -> str:
        self.before()
        return super().tell(*words, **more)


@examples(300)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0, 1, 3, 9, 13, 40])), max_size=60))
def test_never_two_hold_it(steps: list[tuple[int, int]]) -> None:
    """Three controllers take steps in any order, and time passes between them in any amount."""
    slurm = SlurmDouble({"a": 1})
    leases = [lease_on(slurm) for _ in range(3)]
    for at, seconds in steps:
        if leases[at].is_held:
            leases[at].renew()
        else:
            leases[at].acquire()
        assert sum(lease.is_held for lease in leases) <= 1
        slurm.now_s += seconds
        for name in [name for name, row in slurm.reservations.items() if _is_over(row, slurm)]:
            del slurm.reservations[name]  # as Slurm does every half minute
        assert sum(lease.is_held for lease in leases) <= 1


def _is_over(row: dict[str, str], slurm: SlurmDouble) -> bool:
    from ringsched.clusters.slurm.values import moment_s

    return slurm.now_s > (moment_s(row["EndTime"]) or 0) + 30


def test_two_that_create_at_the_same_moment() -> None:
    """One is stopped between its look and its creation; the other is faster."""
    slurm = Interrupted({"a": 1})
    first, second = lease_on(slurm), lease_on(slurm)

    def meanwhile() -> None:
        slurm.before = lambda: None
        assert second.acquire()

    slurm.before = meanwhile
    assert not first.acquire()
    assert second.is_held


def test_work_waits_for_the_lease_and_goes_on_after_a_loss() -> None:
    slurm = SlurmDouble({"a": 1})
    other, mine = lease_on(slurm), lease_on(slurm)
    assert other.acquire()
    said: list[str] = []
    tries = []

    def wait(seconds: float) -> None:
        slurm.now_s += seconds

    def work(patient: Any) -> None:
        tries.append(slurm.now_s)
        if len(tries) == 1:
            slurm.now_s += 60  # paused
            patient(1.0)
        for _ in range(10):
            patient(5.0)

    held(mine, work, wait=wait, say=said.append)
    assert len(tries) == 2
    assert said[0] == "waiting: another controller is active"
    assert "taken over" in said[1]
    assert mine._name == ""


def test_once_reports_another_controller() -> None:
    slurm = SlurmDouble({"a": 1})
    assert lease_on(slurm).acquire()
    with pytest.raises(AdapterError, match="another controller is active"):
        held(lease_on(slurm), lambda _: None, wait=lambda _: None, say=print, once=True)


def test_without_rights_it_says_what_is_missing() -> None:
    class Denied(SlurmDouble):
        def tell(self, *_: str, **__: Any) -> str:
            raise AdapterError("failed: Access/permission denied", refused=True)

    with pytest.raises(AdapterError, match="needs operator rights"):
        held(lease_on(Denied({"a": 1})), lambda _: None, wait=lambda _: None, say=print)
