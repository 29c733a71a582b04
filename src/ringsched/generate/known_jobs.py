"""Jobs of known models that take a given time in the best case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ringsched.engine.problem import problem_of
from ringsched.generate.like_servers import CONTENTION
from ringsched.io.catalogue import CATALOGUE
from ringsched.model import Cluster, Contention, Job, Scenario, Time

Kind = tuple[int, str]  # GPUs and model


def known_jobs(
    kinds: Sequence[Kind],
    durations_s: Sequence[float],
    submits_s: Sequence[float],
    cluster: Cluster,
) -> tuple[Job, ...]:
    """Return a job of each kind, with the iterations its duration takes in the best case."""
    best_tau_s = best_taus(kinds, cluster, CONTENTION)
    return tuple(
        known_job(f"{kind[1]}-{at}", kind, iterations_of(duration_s, best_tau_s[kind]), submit_s)
        for at, (kind, duration_s, submit_s) in enumerate(zip(kinds, durations_s, submits_s, strict=True))
    )


def known_job(name: str, kind: Kind, iterations: int, submit_s: float) -> Job:
    """Return a job of a model of the catalogue."""
    gpus, model = kind
    return Job(name=name, gpus=gpus, iterations=iterations, submit_s=submit_s, **CATALOGUE[model].fields())


def iterations_of(duration_s: float, tau_s: float) -> int:
    """Return how many iterations come nearest to a duration, at least one."""
    return max(1, round(duration_s / tau_s))


def best_taus(kinds: Iterable[Kind], cluster: Cluster, contention: Contention) -> dict[Kind, float]:
    """Return the best-case seconds per iteration of each kind: a probe of one iteration of each."""
    distinct = sorted(set(kinds))
    probes = tuple(known_job(f"{model} on {gpus} GPUs", (gpus, model), 1, 0.0) for gpus, model in distinct)
    probe = Scenario(cluster=cluster, contention=contention, time=Time(model="continuous"), jobs=probes)
    return dict(zip(distinct, problem_of(probe).best_case, strict=True))
