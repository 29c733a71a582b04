"""How much the jobs of a scenario ask of its cluster."""

from __future__ import annotations

from ringsched.engine.problem import problem_of
from ringsched.model import Job, Scenario, Time
from ringsched.model.checks import instance


def offered_load(scenario: Scenario) -> float:
    """Return the GPU-seconds of all jobs in the best case over those of the cluster until the last submit.

    Above 1 the queue grows for as long as jobs arrive. Without arrivals over time it is 0.

    Examples
    --------
    >>> import ringsched
    >>> ringsched.offered_load(ringsched.generate_uniform(jobs=100, servers=10))
    0.0
    """
    jobs = instance(scenario, "scenario", Scenario).jobs
    span_s = max((job.submit_s for job in jobs), default=0.0)
    if span_s == 0:
        return 0.0
    tau_s = _best_taus(scenario)
    gpu_seconds = sum(job.gpus * job.iterations * tau_s[_alike(job)] for job in jobs)
    return gpu_seconds / (scenario.cluster.capacity * span_s)


def _alike(job: Job) -> tuple[float, ...]:
    """Return what the best case of an iteration depends on."""
    return job.gpus, job.gradient_mb, job.minibatch, job.forward_ms, job.backward_ms


def _best_taus(scenario: Scenario) -> dict[tuple[float, ...], float]:
    """Return the best-case seconds per iteration, computed once for jobs that are alike."""
    different = {_alike(job): job for job in scenario.jobs}
    unit = {"iterations": 1, "done_iterations": 0, "running_on": None, "submit_s": 0.0}
    probes = tuple(job.replace(**unit) for job in different.values())
    probe = scenario.replace(jobs=probes, time=Time(model="continuous"))
    return dict(zip(different, problem_of(probe).best_case, strict=True))
