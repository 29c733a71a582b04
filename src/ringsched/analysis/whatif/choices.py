"""When and where one more job could start in a run that is given."""

from __future__ import annotations

import math

from ringsched.analysis.whatif.candidates import Candidates, Gpus
from ringsched.analysis.whatif.occupancy import Occupancy
from ringsched.engine.problem import Problem
from ringsched.engine.run import Run

Choice = tuple[float, Gpus]  # start, in the clock's units, and place

# Simulations, each of which takes time in proportion to the jobs.
LEAST_TRIED, JOBS_TRIED = 25, 20_000


def choices(problem: Problem, run: Run) -> list[Choice]:
    """Return starts and places for the last job of a problem, the earliest first.

    Beyond the first place that is sure to hurt nobody nothing can be better. Of more choices than there is
    time for, some are left out, evenly.
    """
    job = problem.num_jobs - 1
    inside, best = _inside(problem, job), problem.best_case[job]
    occupancy, candidates = Occupancy(problem, run), Candidates(problem, problem.gpus[job], inside)
    release = problem.release[job]
    instants = [release, *sorted({finish for finish in run.finishes if finish > release})]
    found: list[Choice] = []
    sure: list[Choice] = []  # tried in any case
    latest = math.inf
    for time in instants:
        idle = occupancy.idle(time)
        places = [(time, gpus) for gpus in sorted(candidates.at(idle))]
        harmless = candidates.harmless(idle)
        if harmless is not None and time + inside < latest:
            latest = time + inside
            sure.append((time, harmless))
        elif time == instants[-1]:  # there every job fits
            sure += places
        if time == release:
            sure += places
        found += places
        if time + best > latest:
            break
    may_be_better = [choice for choice in found if choice[0] + alone(problem, job, choice[1]) <= latest]
    most = max(LEAST_TRIED, JOBS_TRIED // problem.num_jobs)
    return sorted({*sure, *_some(may_be_better, most)})


def alone(problem: Problem, job: int, gpus: Gpus) -> float:
    """Return how long a job takes on these GPUs with nobody else around."""
    clock, tau = problem.clock, problem.alone_tau(job, problem.shape(gpus))
    return clock.duration(problem.iterations[job], clock.rate(tau))


def _inside(problem: Problem, job: int) -> float:
    """Return how long a job takes in one server; the best case of one that fits in none."""
    largest = max(range(problem.num_servers), key=lambda server: problem.network.capacity[server])
    if problem.network.capacity[largest] < problem.gpus[job]:
        return problem.best_case[job]
    first = problem.first_gpu[largest]
    usable = [gpu for gpu in range(first, problem.first_gpu[largest + 1]) if problem.available[gpu]]
    return alone(problem, job, tuple(usable[: problem.gpus[job]]))


def _some(found: list[Choice], most: int) -> list[Choice]:
    """Return `found`, or `most` of it at even distances."""
    if len(found) <= most:
        return found
    return [found[at * len(found) // most] for at in range(most)]
