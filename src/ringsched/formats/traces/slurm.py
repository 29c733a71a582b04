"""What Slurm's accounting has in common in its formats: GPUs, node lists, names of jobs and states."""

from __future__ import annotations

import re

from ringsched.errors import InputError
from ringsched.formats.host_lists import expand
from ringsched.formats.traces.places import split_evenly
from ringsched.formats.traces.rows import (
    NEVER_STARTED,
    NO_GPU,
    STILL_RUNNING,
    BadRow,
    Recorded,
    malformed,
)

JOB_STEP = "a step of a job"
NO_NODES = frozenset({"", "none assigned", "none", "(null)", "unknown", "n/a"})

_GPUS = re.compile(r"(?:^|,)gres/gpu=(\d+)")
_TYPED_GPUS = re.compile(r"(?:^|,)gres/gpu:[^=,]+=(\d+)")
_GRES = re.compile(r"(?:^|,)(?:gres:)?gpu(?::[^:,=()]*[^:,=()\d][^:,=()]*)?[:=](\d+)")


def gpus_of_tres(text: str | None) -> int:
    """Return the GPUs in a list of trackable resources, or in an older list of generic ones.

    Examples
    --------
    >>> gpus_of_tres("billing=8,cpu=8,gres/gpu=4,node=2"), gpus_of_tres("gres/gpu:a100=2,gres/gpu:v100=1")
    (4, 3)
    >>> gpus_of_tres("gpu:4"), gpus_of_tres("gpu:a100:2"), gpus_of_tres("cpu=1,mem=4G"), gpus_of_tres(None)
    (4, 2, 0, 0)
    """
    if not text:
        return 0
    if found := _GPUS.search(text):
        return int(found[1])
    return sum(map(int, _TYPED_GPUS.findall(text) or _GRES.findall(text)))


def name_of_job(job_id: str | None, line: int) -> str:
    """Return the id of a job or of a job of an array; steps are no jobs."""
    if job_id is None:
        return f"job-{line}"
    if "." in job_id:
        raise BadRow(JOB_STEP)
    if "_[" in job_id:  # the jobs of an array that wait
        raise BadRow(NEVER_STARTED)
    if not job_id.isprintable():
        raise malformed("JobID", "must be printable")
    return job_id


def checked_times(start: float | None, end: float | None, state: str | None) -> tuple[float, float]:
    """Return start and end, or raise why the job has none."""
    if start is None:
        pending = state is None or not state.upper().startswith("RUNNING")
        raise BadRow(NEVER_STARTED if pending else STILL_RUNNING)
    if end is None:
        raise BadRow(STILL_RUNNING)
    return start, end


def recorded_on(nodes: str | None, start: float, end: float, gpus: int) -> Recorded | None:
    """Return where and when a job ran; None if its nodes are not recorded, or cannot hold its GPUs."""
    if nodes is None or nodes.strip().lower() in NO_NODES:
        return None
    try:
        hosts = expand(nodes.strip())
        return Recorded(start, end, split_evenly(hosts, gpus, "NodeList"), len(hosts) > 1)
    except (InputError, BadRow):
        return None


def checked_gpus(*lists: str | None) -> int:
    """Return the GPUs of the first list of resources that is there."""
    gpus = gpus_of_tres(next((text for text in lists if text), None))
    if gpus == 0:
        raise BadRow(NO_GPU)
    return gpus
