"""Copies of a job side by side: its duty cycle, from its throughput alone and together."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from ringsched.calibrate.estimate import Estimate, mean_of
from ringsched.calibrate.predict import Placed, predict
from ringsched.errors import InputError
from ringsched.formats.decode import build, check_keys
from ringsched.formatting import counted
from ringsched.model.calibration import Calibration
from ringsched.model.checks import integer, number, settle, text

REQUIRED = ("job", "alone", "together")
COLUMNS = (*REQUIRED, "copies")
NOISE = 0.03  # copies that are faster together than alone by more than this are not believed
MOST_COPIES = 16
_HALVINGS = 40
# A link on which a message of 0.5 MB between two servers takes as many seconds as it has MB.
_LINK = Calibration(inter_server_gbps=8e-3)


@dataclass(frozen=True, kw_only=True)
class Copies:
    """The throughput of a job, alone and while all its copies use the same links, in the same unit."""

    job: str
    alone: float
    together: float
    copies: int = 2

    def __post_init__(self) -> None:
        settle(
            self,
            job=text(self.job, "job"),
            alone=number(self.alone, "alone", above=0),
            together=number(self.together, "together", above=0),
            copies=integer(self.copies, "copies", minimum=2, maximum=MOST_COPIES),
        )
        if self.slowdown < 1 - NOISE:
            raise InputError(
                f"is {self.together / self.alone - 1:.0%} above alone; write the throughput of one copy, "
                "and measure until both are steady",
                field="together",
            )

    @property
    def slowdown(self) -> float:
        """How many times longer an iteration takes beside the copies."""
        return self.alone / self.together

    @cached_property
    def duty_cycle(self) -> float:
        """The fraction of an iteration alone that is exchange, by the contention model `phases`.

        Examples
        --------
        >>> round(Copies(job="a", alone=100, together=82).duty_cycle, 2)
        0.43
        """
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if slowdown_of([middle] * self.copies)[0] < self.slowdown:
                low = middle
            else:
                high = middle
        return (low + high) / 2


def slowdown_of(duty_cycles: Sequence[float]) -> list[float]:
    """Return how many times longer the iterations of jobs with these duty cycles take on one link.

    Examples
    --------
    >>> [round(each, 2) for each in slowdown_of([0.5, 0.2])]
    [1.08, 1.07]
    """
    shares = [min(1.0, max(1e-9, each)) for each in duty_cycles]
    return predict(
        [Placed(placement=(0, 1), message_mb=share, compute_s=1 - share) for share in shares], _LINK
    )


def is_copies_text(content: str) -> bool:
    """Whether a text is a CSV file of copies, by its header."""
    header = [name.strip() for name in content.split("\n", 1)[0].split(",")]
    return "alone" in header and "together" in header


def copies_from_csv(content: str) -> tuple[Copies, ...]:
    """Return the rows of a CSV file with the columns job, alone, together, and optionally copies."""
    rows = csv.DictReader(io.StringIO(content, newline=""), strict=True, restkey="", skipinitialspace=True)
    found = []
    try:
        check_keys(
            dict.fromkeys((name.strip() for name in rows.fieldnames or ()), ""), COLUMNS, REQUIRED, "line 1"
        )
        for row in rows:
            place = f"line {rows.line_num}"
            if "" in row or None in row.values():
                raise InputError("has another number of cells than the header", place=place)
            cells = {name.strip(): cell.strip() for name, cell in row.items() if cell.strip()}
            found.append(build(Copies, {name: _value(name, cell) for name, cell in cells.items()}, place))
    except csv.Error as error:
        raise InputError(f"is not valid CSV: {error}", place=f"line {rows.line_num}") from None
    if not found:
        raise InputError("has a header but no measurements")
    return tuple(found)


def _value(name: str, cell: str) -> object:
    try:
        return cell if name == "job" else int(cell) if name == "copies" else float(cell)
    except ValueError:
        return cell


@dataclass(frozen=True, slots=True, kw_only=True)
class DutyCycle:
    """What the copies of one job say of it."""

    job: str
    slowdown: float  # of the first row
    duty_cycle: Estimate


def duty_cycles_of(rows: Iterable[Copies]) -> tuple[DutyCycle, ...]:
    """Return the duty cycle of every job, with an interval if it was measured several times."""
    by_job: dict[str, list[Copies]] = defaultdict(list)
    for row in rows:
        by_job[row.job].append(row)
    return tuple(
        DutyCycle(
            job=job,
            slowdown=members[0].slowdown,
            duty_cycle=mean_of([each.duty_cycle for each in members], lowest=0.0),
        )
        for job, members in by_job.items()
    )


def pairs_of(found: Sequence[DutyCycle]) -> list[tuple[str, str, float, float]]:
    """Return for each pair of different jobs how many times longer the first and the second take together."""
    pairs = []
    for one, other in combinations(found, 2):
        first, second = slowdown_of([one.duty_cycle.value, other.duty_cycle.value])
        pairs.append((one.job, other.job, first, second))
    return pairs


def summary_of_copies(rows: Sequence[Copies]) -> str:
    """Return a short description of the measurements."""
    return f"{counted(len(rows), 'measurement')} of copies side by side"
