"""The table of contention models, and the kernels that ask the one in force."""

from __future__ import annotations

import math
from typing import Any

from ringsched.contention.iteration_time import Ring, Work
from ringsched.contention.max_min import MaxMin, fill
from ringsched.contention.model import (
    COUNTING,
    MAX_MIN,
    NO_LINK,
    PHASES,
    ContentionModel,
    CountingModel,
    PythonModel,
)
from ringsched.contention.network import Shape
from ringsched.contention.paper import Paper
from ringsched.contention.phases import Phases, meet_by_chance
from ringsched.contention.reserved import Reserved
from ringsched.contention.traffic import Links, Traffic, tau_at, touch
from ringsched.errors import InputError
from ringsched.jit import kernel, part, python_only
from ringsched.model import Contention
from ringsched.model.checks import shown

MODELS: dict[str, Any] = {model.name: model for model in (Paper, MaxMin, Phases, Reserved)}


def is_counting(name: str) -> bool:
    """Whether the model of that name is a counting one."""
    return MODELS[name].is_counting


def model_of(settings: Contention) -> ContentionModel:
    """Return the contention model of a scenario."""
    if isinstance(settings.model, str):
        return MODELS[settings.model](settings)
    model = settings.model
    if not isinstance(model, CountingModel | PythonModel):
        raise InputError(
            f"must be a name, a CountingModel or a PythonModel, not {shown(model)}", field="contention.model"
        )
    _check_factors(model)
    return model


def _check_factors(model: ContentionModel) -> None:
    """Refuse a custom model whose factors cannot be upper limits."""
    factors = [model.factor(number) for number in (1, 2, 3, 4, 8, 16)]
    numbers = all(isinstance(factor, int | float) and math.isfinite(factor) for factor in factors)
    if not numbers or factors[0] < 1 or factors != sorted(factors):
        raise InputError(
            f"{model.name!r} has factors {factors} at 1, 2, 3, 4, 8 and 16 jobs; they must be numbers >= 1 "
            "that do not fall",
            field="contention.model:",
        )


@part
def share_links(links: Links, traffic: Traffic) -> None:
    """Share the links among the running jobs after a change; more jobs may be touched by it."""
    if links.kernel == COUNTING:
        return  # the number of jobs on each link says all
    if links.kernel == MAX_MIN:
        fill(links, traffic, True)
    elif links.kernel == PHASES:
        meet_by_chance(links, traffic)
    else:
        _ask_python(links, traffic)


@part
def iteration_time(links: Links, traffic: Traffic, job: int) -> float:
    """Return tau, eq. (8), of a running job; links were shared by `share_links` just before."""
    if links.kernel != COUNTING and traffic.num_links[job] > 0:
        return traffic.tau[job]
    return tau_at(links, job, _bandwidth_gbps(links, traffic, job), traffic.num_servers[job])


@part
def set_pace(links: Links, traffic: Traffic, job: int) -> float:
    """The same, and note its bandwidth: until a link gives less, or that link gives more, it stays."""
    if links.kernel != COUNTING:
        return iteration_time(links, traffic, job)
    traffic.gbps[job] = _bandwidth_gbps(links, traffic, job)
    return tau_at(links, job, traffic.gbps[job], traffic.num_servers[job])


@part
def _bandwidth_gbps(links: Links, traffic: Traffic, job: int) -> float:
    bandwidth_gbps = traffic.free_gbps[job]
    first = links.entry_first[job]
    for entry in range(first, first + traffic.num_links[job]):
        bandwidth_gbps = min(bandwidth_gbps, traffic.shared_gbps[traffic.entry_link[entry]])
    return bandwidth_gbps


@kernel
def limiting_link(links: Links, traffic: Traffic, job: int) -> int:
    """Return the lowest of the links that keep a running job from going faster, or NO_LINK."""
    if links.kernel != COUNTING:
        return traffic.limit[job] if traffic.num_links[job] > 0 else NO_LINK
    slowest_gbps, limit = math.inf, NO_LINK
    first = links.entry_first[job]
    for entry in range(first, first + traffic.num_links[job]):
        link = traffic.entry_link[entry]
        gbps = traffic.shared_gbps[link]
        if gbps < slowest_gbps or (gbps == slowest_gbps and link < limit):
            slowest_gbps, limit = gbps, link
    return limit


@kernel
def num_contenders(links: Links, traffic: Traffic, link: int) -> int:
    """Return how many jobs on a link slow each other."""
    if links.silent_jobs_contend:
        return traffic.num_on_link[link]
    number = 0
    first = links.link_first[link]
    for place in range(first, first + traffic.num_on_link[link]):
        number += links.exchange_gbit[links.entry_job[traffic.on_link[place]]] > 0
    return number


@python_only
def _ask_python(links: Links, traffic: Traffic) -> None:
    """Ask a model of the user's for the iteration times of all jobs that cross links."""
    assert isinstance(links.python, PythonModel)
    rings: dict[int, Ring] = {}
    for link, number in enumerate(traffic.num_on_link.tolist()):
        start = links.link_first[link]
        for entry in traffic.on_link[start : start + number].tolist():
            job = int(links.entry_job[entry])
            if job not in rings:
                rings[job] = _ring(links, traffic, job)
    if not rings:
        return
    uplink_gbps = links.uplink_gbps.tolist()
    paces = links.python.iteration_times(rings, uplink_gbps)
    for job, ring in rings.items():
        _check_pace(links, traffic, job, ring, paces.get(job))
        traffic.tau[job], traffic.limit[job] = paces[job]
        touch(traffic, job)


def _check_pace(links: Links, traffic: Traffic, job: int, ring: Ring, pace: Any) -> None:
    """Refuse an answer of a custom model that contradicts what it says of itself."""
    assert links.python is not None
    problem = ""
    if pace is None:
        problem = "returned no iteration time"
    elif not isinstance(pace.tau, int | float):
        problem = f"returned {shown(pace.tau)} for an iteration time; it must be a number of seconds"
    elif pace.link not in (NO_LINK, *ring.links):
        problem = (
            f"returned {shown(pace.link)} as the limiting link; it must be one of {ring.links} or NO_LINK"
        )
    else:
        alone_s = ring.tau(min(float(links.alone_gbps[link]) for link in ring.links))
        shared = (links.uplink_gbps[link] / links.factor[traffic.num_on_link[link]] for link in ring.links)
        longest_s = ring.tau(float(min(shared)))
        if not alone_s * (1 - 1e-9) <= pace.tau <= longest_s * (1 + 1e-9):
            problem = (
                f"returned an iteration time of {pace.tau!r} s; alone it is {alone_s:g} s, and by the "
                f"model's factor at most {longest_s:g} s"
            )
    if problem:
        raise InputError(f"{links.python.name!r} {problem}, for job number {job}", field="contention.model:")


def _ring(links: Links, traffic: Traffic, job: int) -> Ring:
    first, num_servers = links.entry_first[job], int(traffic.num_servers[job])
    arrays = (links.exchange_gbit, links.reduce_s, links.compute_s, links.backward_s, links.overlap)
    work = Work(*(float(array[job]) for array in arrays))
    crossed = sorted(traffic.entry_link[first : first + traffic.num_links[job]].tolist())
    shape = Shape(tuple(crossed), num_servers, float(traffic.free_gbps[job]))
    return Ring(work, shape, links.latency_s * num_servers)
