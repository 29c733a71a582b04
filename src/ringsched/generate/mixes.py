"""Which sizes and models a workload has, how many of each, and jobs of known models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from ringsched.engine.problem import problem_of
from ringsched.errors import InputError, UnknownName
from ringsched.formats.jobs import CATALOGUE
from ringsched.generate.cluster import CONTENTION
from ringsched.generate.draw import Draw
from ringsched.model import Cluster, Contention, Job, Scenario, Time
from ringsched.model.checks import MAX_GPUS, integer, number, shown

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


_Key = TypeVar("_Key", int, str)

# GPUs of a job -> weight.
SIZE_MIXES: Mapping[str, Mapping[int, float]] = {
    # Section 7 of the paper: counts out of 160.
    "paper": {1: 80, 2: 14, 4: 26, 8: 30, 16: 8, 32: 2},
    # Counts out of 10,000, approximately those of Microsoft's Philly clusters (Jeon et al. 2019):
    # 12 and 24 GPUs are counted as 16 and 32, and the rare sizes are rounded up to one.
    "philly": {1: 9317, 2: 221, 4: 227, 8: 200, 16: 25, 32: 8, 64: 1, 128: 1},
    "uniform": {1: 1, 2: 1, 4: 1, 8: 1, 16: 1, 32: 1},
}

# Model of the catalogue -> weight.
MODEL_MIXES: Mapping[str, Mapping[str, float]] = {
    "uniform": dict.fromkeys(CATALOGUE, 1),
    "vision": {"resnet50": 1, "vgg16": 1, "inception-v3": 1, "resnet18": 1},
    "language": {"lstm-ptb": 1, "bert-base": 1, "gpt2-small": 1},
}


def size_mix(mix: str | Mapping[int, float], field: str) -> dict[int, float]:
    """Return GPUs -> weight from a named mix, "1:80,2:14", or such a mapping.

    Examples
    --------
    >>> size_mix("1:80, 2:14", "sizes")
    {1: 80.0, 2: 14.0}
    """
    return _mix(mix, field, SIZE_MIXES, "mix of sizes", _size)


def model_mix(mix: str | Mapping[str, float], field: str) -> dict[str, float]:
    """Return model -> weight from a named mix, "resnet50:3,vgg16", or such a mapping.

    Examples
    --------
    >>> model_mix("resnet50:3,vgg16", "models")
    {'resnet50': 3.0, 'vgg16': 1.0}
    """
    return _mix(mix, field, MODEL_MIXES, "mix or model", _model)


def apportioned(mix: Mapping[_Key, float], number_of: int) -> list[_Key]:
    """Return `number_of` keys, as close to the weights as whole numbers can be (largest remainders).

    Examples
    --------
    >>> apportioned({1: 2.0, 8: 1.0}, 5)
    [1, 1, 1, 8, 8]
    """
    total = sum(mix.values())
    quotas = {key: number_of * weight / total for key, weight in mix.items()}
    counts = {key: int(quota) for key, quota in quotas.items()}
    missing = number_of - sum(counts.values())
    for key in sorted(quotas, key=lambda key: counts[key] - quotas[key])[:missing]:
        counts[key] += 1
    return [key for key, count in counts.items() for _ in range(count)]


def _mix(
    mix: str | Mapping[_Key, float],
    field: str,
    named: Mapping[str, Mapping[_Key, float]],
    what: str,
    key_of: Callable[[object, str], _Key | None],
) -> dict[_Key, float]:
    if isinstance(mix, str):
        pairs = list(named[mix].items()) if mix in named else _inline(mix, field)
    elif isinstance(mix, Mapping):
        pairs = list(mix.items())
    else:
        raise InputError(f"must be a {what}, not {shown(mix)}", field=field)
    result: dict[_Key, float] = {}
    for given, weight in pairs:
        key = key_of(given, field)
        if key is None:
            known = [*named, *CATALOGUE] if named is MODEL_MIXES else named
            raise UnknownName(what, str(given), known, field=field)
        if key in result:
            raise InputError(f"names {given} twice", field=field)
        # A bound far below what would lose the small weights beside it.
        result[key] = number(weight, f"{field}: the weight of {given}", above=0, maximum=1e9)
    if not result:
        raise InputError("must not be empty", field=field)
    return result


def _inline(mix: str, field: str) -> list[tuple[str, object]]:
    """Return the pairs of "1:80,2:14"; a weight left out is 1."""
    pairs: list[tuple[str, object]] = []
    for entry in mix.split(","):
        key, colon, weight = (part.strip() for part in entry.partition(":"))
        if not key or (colon and not weight):
            raise InputError(f"must look like 1:80,2:14 or be a name, not {shown(mix)}", field=field)
        pairs.append((key, _weight(weight) if colon else 1))
    return pairs


def _weight(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _size(given: object, field: str) -> int | None:
    """Return a number of GPUs; None if it is no number, an InputError if it is no possible one."""
    if isinstance(given, str):
        try:
            given = int(given)
        except ValueError:
            return None
    return integer(given, f"{field}: a size", minimum=1, maximum=MAX_GPUS)


def _model(given: object, _field: str) -> str | None:
    return given if isinstance(given, str) and given in CATALOGUE else None


MOST_JOBS = 1_000_000
MOST_HOURS = 1e6
SECONDS_PER_HOUR = 3600


def drawn_kinds(
    draw: Draw,
    jobs: int,
    sizes: str | Mapping[int, float],
    models: str | Mapping[str, float],
    capacity: int,
) -> list[Kind]:
    """Return GPUs and model of each job: as many of each as the mixes say, who gets what is drawn."""
    num_jobs = integer(jobs, "jobs", minimum=1, maximum=MOST_JOBS)
    job_sizes = apportioned(size_mix(sizes, "sizes"), num_jobs)
    if max(job_sizes) > capacity:
        raise InputError(
            f"asks for a job of {max(job_sizes)} GPUs, but the cluster has {capacity}", field="sizes"
        )
    job_models = apportioned(model_mix(models, "models"), num_jobs)
    return list(zip(draw.shuffled(job_sizes), draw.shuffled(job_models), strict=True))


def drawn_durations_s(draw: Draw, number_of: int, min_hours: float, max_hours: float) -> list[float]:
    """Return best-case durations, log-uniform between two numbers of hours."""
    low_s = number(min_hours, "min_hours", above=0, maximum=MOST_HOURS) * SECONDS_PER_HOUR
    high_s = number(max_hours, "max_hours", above=0, maximum=MOST_HOURS) * SECONDS_PER_HOUR
    if low_s > high_s:
        raise InputError(f"= {min_hours:g} is above the longest, {max_hours:g}", field="min_hours")
    return [draw.log_uniform(low_s, high_s) for _ in range(number_of)]


def time_of(slot_s: float | None) -> Time:
    """Return slotted time with this slot, or continuous time."""
    if slot_s is None:
        return Time(model="continuous")
    return Time(slot_s=number(slot_s, "slot_s", above=0))


def plannable(scenario: Scenario) -> Scenario:
    """Return the scenario if it can be planned: its slot long enough, its links fast enough."""
    try:
        problem_of(scenario)
    except InputError as error:
        if not scenario.time.slotted or error.field != "an iteration":
            raise
        raise InputError(
            f"= {scenario.time.slot_s:g} is shorter than an iteration of {error.place} in the worst case; "
            "leave it out for continuous time",
            field="slot_s",
        ) from None
    return scenario
