"""Slurm as a backend of the controller: jobs keep their ids, and are placed by update and release."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ringsched.clusters.controller import Decision, SetAside, Start, TakeBack
from ringsched.clusters.network import Network
from ringsched.clusters.slurm.commands import Commands
from ringsched.clusters.slurm.comments import Note, note_text
from ringsched.clusters.slurm.queue import OurJob
from ringsched.clusters.slurm.requests import shape_of
from ringsched.clusters.slurm.snapshot import SlurmSnapshot, read_slurm, snapshot_of
from ringsched.errors import AdapterError

FIRST_RETRY_S = 10  # what Slurm refuses at once is often a node that has just gone or come back
LAST_RETRY_S = 3600


def retry_s(refusals: int) -> int:
    """Return how long a job is left alone after so many refusals.

    Examples
    --------
    >>> [retry_s(refusals) for refusals in (1, 2, 3, 20)]
    [10, 20, 40, 3600]
    """
    return min(LAST_RETRY_S, FIRST_RETRY_S << min(refusals - 1, 20))


@dataclass(kw_only=True)
class SlurmBackend:
    """Reads Slurm, and gives its jobs their nodes.

    Parameters
    ----------
    commands, clock
        The interface to Slurm, and the time in Unix seconds.
    partitions
        The partitions whose jobs are planned.
    say
        Called with a line when Slurm refuses something.
    """

    commands: Commands
    clock: Callable[[], float]
    network: Network
    partitions: tuple[str, ...]
    start_timeout_s: float = 60.0
    say: Callable[[str], None] = lambda _line: None
    _last: SlurmSnapshot | None = field(default=None, init=False)

    def snapshot(self) -> SlurmSnapshot:
        """Read Slurm."""
        reading = read_slurm(self.commands, self.partitions, self.clock())
        self._last = snapshot_of(reading, self.network, self.start_timeout_s)
        return self._last

    def apply(self, decisions: Sequence[Decision]) -> frozenset[str]:
        """Carry out decisions; return the names of the jobs that were released."""
        assert self._last is not None
        jobs = {job.name: job for job in (*self._last.sorted.queued, *self._last.sorted.released)}
        started, left = set(), deque(decisions)
        while left:
            decision = left.popleft()
            job = jobs[decision.name]
            try:
                if isinstance(decision, Start):
                    self._start(job, decision)
                    started.add(decision.name)
                elif isinstance(decision, TakeBack):
                    self._hold(job)
                else:
                    self._set_aside(job, decision.reason)
            except AdapterError as error:
                if not error.refused:
                    raise  # the effect is unknown: read Slurm again first
                if isinstance(decision, Start):
                    self.say(f"set aside {job.slurm.id}: {error}")
                    left.appendleft(SetAside(name=decision.name, reason=str(error)))
        return frozenset(started)

    def _start(self, ours: OurJob, start: Start) -> None:
        """Write the placement into a held job, and release it.

        The note comes first. It remembers what the job asked for, so that a controller that continues after a
        crash at any point reads the same request. A job that is half changed is still held.
        """
        assert self._last is not None
        job_id, request = ours.slurm.id, self._last.queued[ours.name].request
        note = Note(
            servers=dict(start.servers),
            released_s=int(self.clock()),
            finish_s=round(self._last.now_s + start.finish_s),
            before=ours.note.before or shape_of(request),
            refusals=ours.note.refusals,
        )
        if ours.slurm.reason == "BadConstraints":
            self._hold(ours)  # otherwise Slurm would start it at the first update
        self._update(job_id, f"Comment={note_text(note, ours.slurm.comment)}")
        for words in request.updates(start.servers):
            self._update(job_id, *words)
        self.commands.tell("scontrol", "release", job_id)

    def _set_aside(self, ours: OurJob, reason: str) -> None:
        """Hold a job, and record for its owner why, and when it may be tried again."""
        if not ours.slurm.held or ours.slurm.reason == "BadConstraints":
            self._hold(ours)
        refusals = (ours.note.refusals or 0) + 1
        note = replace(
            ours.note,
            released_s=None,
            finish_s=None,
            refused=reason,
            refused_until_s=int(self.clock()) + retry_s(refusals),
            refusals=refusals,
        )
        self._update(ours.slurm.id, f"Comment={note_text(note, ours.slurm.comment)}")

    def _hold(self, ours: OurJob) -> None:
        """Hold a job as its owner would, so that its owner can still release it."""
        self.commands.tell("scontrol", "uhold", ours.slurm.id)

    def _update(self, job_id: str, *words: str) -> None:
        self.commands.tell("scontrol", "update", f"jobid={job_id}", *words)
