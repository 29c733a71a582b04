"""The ledger: every second of every job, and to whom it goes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ringsched.analysis.blame.accounts import Blame, JobAccount, LinkAccount
from ringsched.analysis.blame.timeline import Floats, Integers
from ringsched.analysis.blame.without import WithoutJob, without_job
from ringsched.contention.sharing import model_of
from ringsched.errors import UnknownName
from ringsched.model import Plan, Scenario
from ringsched.model.checks import settle


class Entries(NamedTuple):
    """All blame as columns, jobs and links by index; there may be millions."""

    victim: Integers
    culprit: Integers
    link: Integers
    seconds: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ledger:
    """Where the time of every job of a plan goes, and who slows whom on which link.

    Parameters
    ----------
    scenario, plan
        What it is about.
    origin_s
        The first release, where the plan's time begins.
    jobs
        In the scenario's order.
    links
        The uplinks of all servers, then of all switches, unused ones included.
    entries
        The blame in columns; `blames()` gives it as objects.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> ledger = ringsched.explain(scenario, ringsched.plan(scenario, "first-fit"))
    >>> worst = ledger.blames()[0]
    >>> print(worst.culprit, "slows", worst.victim, "on", worst.link)
    gpt2-finetune slows vgg-sweep-1 on node-2
    """

    scenario: Scenario
    plan: Plan
    origin_s: float
    jobs: tuple[JobAccount, ...]
    links: tuple[LinkAccount, ...]
    entries: Entries
    _index: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        settle(self, _index={account.name: at for at, account in enumerate(self.jobs)})

    @property
    def is_counting(self) -> bool:
        """Whether one job less on a link never slows another, under the scenario's contention model."""
        return model_of(self.scenario.contention).is_counting

    def job(self, name: str) -> JobAccount:
        """Return the account of a job, or say which there are."""
        if name not in self._index:
            raise UnknownName("job", name, self._index)
        return self.jobs[self._index[name]]

    def blames(
        self, *, victim: str | None = None, culprit: str | None = None, most: int | None = None
    ) -> tuple[Blame, ...]:
        """Return who slows whom on which link, the worst first; `most` of them if given."""
        wanted = np.ones(len(self.entries.seconds), dtype=np.bool_)
        for name, column in ((victim, self.entries.victim), (culprit, self.entries.culprit)):
            if name is not None:
                wanted &= column == self._index[self.job(name).name]
        rows = np.flatnonzero(wanted)
        rows = rows[np.argsort(-self.entries.seconds[rows], kind="stable")][:most]
        columns = (column[rows].tolist() for column in self.entries)
        return tuple(
            Blame(
                victim=self.jobs[hurt].name,
                culprit=self.jobs[by].name,
                link=self.links[link].label,
                seconds=seconds,
            )
            for hurt, by, link, seconds in zip(*columns, strict=True)
        )

    def by_culprit(self) -> dict[str, float]:
        """Return the seconds that each job costs all others, the worst first, the innocent left out."""
        totals = np.bincount(self.entries.culprit, weights=self.entries.seconds, minlength=len(self.jobs))
        worst = np.argsort(-totals, kind="stable").tolist()
        return {self.jobs[at].name: float(totals[at]) for at in worst if totals[at] > 0}

    def by_victim(self) -> dict[str, float]:
        """Return the seconds that each job loses to contention, the worst first, unhurt jobs left out."""
        losses = [(account.contention_s, at) for at, account in enumerate(self.jobs)]
        return {
            self.jobs[at].name: lost
            for lost, at in sorted(losses, key=lambda loss: (-loss[0], loss[1]))
            if lost
        }

    def by_link(self) -> dict[str, float]:
        """Return the seconds lost on each link, the worst first, links without loss left out."""
        worst = sorted(self.links, key=lambda link: -link.contention_s)
        return {link.label: link.contention_s for link in worst if link.contention_s}

    def matrix(self) -> dict[tuple[str, str], float]:
        """Return seconds by (victim, culprit), over all links; pairs without any left out."""
        names = [account.name for account in self.jobs]
        columns = (column.tolist() for column in self._pairs())
        return {(names[hurt], names[by]): seconds for hurt, by, seconds in zip(*columns, strict=True)}

    def worst_culprits(self) -> dict[str, str]:
        """Return who costs each victim most, over all links; of equals the first job."""
        victims, culprits, seconds = self._pairs()
        order = np.lexsort((culprits, -seconds, victims))
        found, first = np.unique(victims[order], return_index=True)
        worst = culprits[order][first].tolist()
        return {
            self.jobs[hurt].name: self.jobs[by].name for hurt, by in zip(found.tolist(), worst, strict=True)
        }

    def without(self, name: str) -> WithoutJob:
        """Return what would happen if a job were not there and all others kept their GPUs and starts."""
        return without_job(self.scenario, self.plan, self.job(name).name)

    def _pairs(self) -> tuple[Integers, Integers, Floats]:
        """Return victims, culprits and seconds, each pair once."""
        num_jobs = max(1, len(self.jobs))
        pairs, at = np.unique(self.entries.victim * num_jobs + self.entries.culprit, return_inverse=True)
        seconds = np.bincount(at, weights=self.entries.seconds, minlength=len(pairs)).astype(np.float64)
        return pairs // num_jobs, pairs % num_jobs, seconds
