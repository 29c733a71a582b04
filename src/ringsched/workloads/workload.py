"""The description of a workload: its jobs, their arrivals, and the cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from ringsched.errors import InputError
from ringsched.model import Cluster, Contention, Time
from ringsched.model.checks import Replaceable, instance, integer, number, settle, text
from ringsched.workloads.draw import Draw
from ringsched.workloads.mixes import apportioned, mix_text, model_mix, size_mix

MOST_JOBS = 1_000_000
MOST_SCALED_JOBS = 10_000  # limits the time: the search for a contention share simulates them repeatedly
MOST_SERVERS = 10_000
MOST_HOURS = 1e6
MOST_LOAD = 1e6
SECONDS_PER_HOUR = 3600
HOURS_PER_DAY = 24


class Arrivals(Replaceable):
    """When the jobs are submitted: at random times in a span that begins at 0."""

    __slots__ = ()

    def submits_s(self, draw: Draw, num_jobs: int, gpu_seconds: float, capacity: int) -> list[float]:
        """Return the submit times, sorted, of jobs that need `gpu_seconds` on `capacity` GPUs in all."""
        span_s = self._span_s(gpu_seconds, capacity)
        return sorted(round(self._time_s(draw, span_s), 3) for _ in range(num_jobs))

    def _span_s(self, gpu_seconds: float, capacity: int) -> float:
        raise NotImplementedError

    def _time_s(self, draw: Draw, span_s: float) -> float:
        return draw.uniform(0, span_s)


@dataclass(frozen=True, slots=True)
class Spread(Arrivals):
    """Submit times are uniform over some hours; 0 submits all jobs at the start."""

    submit_hours: float = 0.0

    def __post_init__(self) -> None:
        settle(self, submit_hours=number(self.submit_hours, "submit_hours", minimum=0, maximum=MOST_HOURS))

    def _span_s(self, _gpu_seconds: float, _capacity: int) -> float:
        return self.submit_hours * SECONDS_PER_HOUR


@dataclass(frozen=True, slots=True)
class Poisson(Arrivals):
    """A Poisson process at a load: the GPU-seconds that jobs need over those the cluster has meanwhile.

    Given how many jobs arrive in a span, their times are independent uniform draws from it, so the span
    follows from the load.
    """

    load: float = 0.8

    def __post_init__(self) -> None:
        settle(self, load=number(self.load, "load", above=0, maximum=MOST_LOAD))

    def _span_s(self, gpu_seconds: float, capacity: int) -> float:
        return gpu_seconds / (self.load * capacity)


@dataclass(frozen=True, slots=True)
class Diurnal(Poisson):
    """A Poisson process whose rate follows a cosine of the hour: 1 + swing times its mean at the peak."""

    swing: float = 0.8
    peak_hour: float = 14.0

    def __post_init__(self) -> None:
        Poisson.__post_init__(self)
        settle(
            self,
            swing=number(self.swing, "swing", minimum=0, maximum=1),
            peak_hour=number(self.peak_hour, "peak_hour", minimum=0, maximum=HOURS_PER_DAY),
        )

    def _time_s(self, draw: Draw, span_s: float) -> float:
        while True:
            time_s = draw.uniform(0, span_s)
            days = time_s / (HOURS_PER_DAY * SECONDS_PER_HOUR) - self.peak_hour / HOURS_PER_DAY
            if draw.uniform(0, 1 + self.swing) <= 1 + self.swing * math.cos(2 * math.pi * days):
                return time_s


@dataclass(frozen=True, slots=True)
class DrawnServers(Replaceable):
    """The first servers that a seed draws, of 4, 8, 16 or 32 GPUs each, as in the paper.

    `share_servers` reaches the contention share on that many servers instead, so that the jobs of a sweep
    over servers are the same in every field.
    """

    servers: int = 20
    share_servers: int | None = None

    def __post_init__(self) -> None:
        settle(self, servers=integer(self.servers, "servers", minimum=1, maximum=MOST_SERVERS))
        if self.share_servers is not None:
            integer(self.share_servers, "share_servers", minimum=1, maximum=MOST_SERVERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload(Replaceable):
    """What `generate` draws a scenario from.

    `Workload.paper()`, `uniform()`, `poisson()` and `diurnal()` return the usual ones; each also takes the
    fields below.

    Parameters
    ----------
    jobs
        How many jobs.
    sizes, models
        GPUs and models of the jobs: a named mix, an inline one such as "1:80,2:14" or "resnet50:3,vgg16", or
        a mapping to weights. The numbers of jobs follow the weights as closely as whole jobs can.
        Without models the jobs are those of the paper's section 7, of 50 to 300 s.
    min_hours, max_hours
        Between these the best-case durations of jobs with models are log-uniform.
    arrivals
        `Spread`, `Poisson` or `Diurnal` of `ringsched.workloads`.
    cluster
        What the jobs run on, or how many servers to draw.
    contention, time
        Those of the scenario.
    contention_share
        Of jobs without models, and required there: the contention share to reach within 0.005, by scaling
        all gradients and the latency. It needs slotted time.
    name
        How the name of the scenario begins; the seed follows.

    Raises
    ------
    InputError
        A value is out of range, or a job is larger than the cluster.

    Examples
    --------
    >>> workload = Workload.poisson(load=0.5, jobs=200)
    >>> workload.replace(sizes="1:3,4:1").sizes, workload.cluster.capacity
    ('1:3,4:1', 512)
    """

    jobs: int = 10_000
    sizes: str | Mapping[int, float] = "philly"
    models: str | Mapping[str, float] | None = "uniform"
    min_hours: float = 0.5
    max_hours: float = 8.0
    arrivals: Arrivals = field(default_factory=Spread)
    cluster: Cluster | DrawnServers = field(default_factory=lambda: Cluster.of_servers(64))
    contention: Contention = field(default_factory=Contention.ethernet)
    time: Time = field(default_factory=lambda: Time(model="continuous"))
    contention_share: float | None = None
    name: str = "workload"

    @classmethod
    def paper(
        cls,
        servers: int = 20,
        contention_share: float = 0.15,  # "within 15 % of the total actual execution time"
        *,
        horizon_s: float | None = 1200.0,
        share_servers: int | None = None,
        **fields: Any,
    ) -> Self:
        """Return the paper's workload: 160 jobs on servers of 4, 8, 16 or 32 GPUs, in slots of a second.

        For one seed the first n servers are the same whatever `servers` is, and the jobs are the same but for
        the factor on their gradients; with `share_servers` (see `DrawnServers`) that is the same as well.

        Examples
        --------
        >>> import ringsched
        >>> scenario = ringsched.generate(ringsched.Workload.paper(), seed=1)
        >>> len(scenario.jobs), len(scenario.cluster.servers)
        (160, 20)
        """
        usual: dict[str, Any] = {
            "name": "paper",
            "jobs": 160,
            "sizes": "paper",
            "models": None,
            "cluster": DrawnServers(servers, share_servers),
            # The paper gives no latency; only its ratio to the gradients matters.
            "contention": Contention.ethernet().replace(server_latency_ms=0.1),
            "contention_share": contention_share,
            "time": Time(horizon_s=horizon_s),
        }
        return cls(**(usual | fields))

    @classmethod
    def uniform(cls, submit_hours: float = 0.0, **fields: Any) -> Self:
        """Return known models in the paper's sizes on 10,000 GPUs, submitted at once or over some hours.

        Examples
        --------
        >>> import ringsched
        >>> cluster = ringsched.Cluster.of_servers(4)
        >>> workload = ringsched.Workload.uniform(jobs=20, sizes="1:3,4:1", cluster=cluster)
        >>> sum(job.gpus == 4 for job in ringsched.generate(workload).jobs)
        5
        """
        if "cluster" not in fields:
            fields["cluster"] = Cluster.of_servers(1250)
        usual: dict[str, Any] = {"name": "uniform", "sizes": "paper", "arrivals": Spread(submit_hours)}
        return cls(**(usual | fields))

    @classmethod
    def poisson(cls, load: float = 0.8, **fields: Any) -> Self:
        """Return known models in sizes as on Philly, which arrive as a Poisson process.

        Parameters
        ----------
        load
            GPU-seconds of all jobs in the best case over those the cluster has while they arrive. The jobs
            are drawn first; how long they take to arrive follows from it.

        Examples
        --------
        >>> import ringsched
        >>> scenario = ringsched.generate(ringsched.Workload.poisson(load=0.5, jobs=200))
        >>> abs(ringsched.workloads.offered_load(scenario) - 0.5) < 0.01
        True
        """
        usual: dict[str, Any] = {"name": "poisson", "arrivals": Poisson(load)}
        return cls(**(usual | fields))

    @classmethod
    def diurnal(cls, load: float = 0.8, swing: float = 0.8, peak_hour: float = 14.0, **fields: Any) -> Self:
        """Return known models whose rate of arrival goes up and down once a day.

        Parameters
        ----------
        load
            As for `poisson`: the mean; at the peak it is 1 + swing times as much.
        swing
            In [0, 1]: by which part of the mean the rate rises above it by day and falls below it by night.
        peak_hour
            When it is highest; the first day begins at hour 0.

        Examples
        --------
        >>> import ringsched
        >>> workload = ringsched.Workload.diurnal(swing=1.0, peak_hour=12, jobs=2000)
        >>> by_day = [6 <= job.submit_s / 3600 % 24 < 18 for job in ringsched.generate(workload).jobs]
        >>> sum(by_day) > 1500
        True
        """
        usual: dict[str, Any] = {"name": "diurnal", "arrivals": Diurnal(load, swing, peak_hour)}
        return cls(**(usual | fields))

    def __post_init__(self) -> None:
        most_jobs = MOST_JOBS if self.contention_share is None else MOST_SCALED_JOBS
        settle(
            self,
            name=text(self.name, "name"),
            jobs=integer(self.jobs, "jobs", minimum=1, maximum=most_jobs),
            min_hours=number(self.min_hours, "min_hours", above=0, maximum=MOST_HOURS),
            max_hours=number(self.max_hours, "max_hours", above=0, maximum=MOST_HOURS),
            arrivals=instance(self.arrivals, "arrivals", Arrivals),
            contention=instance(self.contention, "contention", Contention),
            time=instance(self.time, "time", Time),
        )
        if self.min_hours > self.max_hours:
            raise InputError(
                f"= {self.min_hours:g} h is above the longest, {self.max_hours:g} h", field="min_hours"
            )
        self._check_mixes()
        self._check_share()

    def _check_mixes(self) -> None:
        largest = max(apportioned(size_mix(self.sizes, "sizes"), self.jobs))
        settle(self, sizes=mix_text(self.sizes))
        if self.models is not None:
            model_mix(self.models, "models")
            settle(self, models=mix_text(self.models))
        if isinstance(self.cluster, DrawnServers):
            return  # what they hold depends on the seed
        capacity = instance(self.cluster, "cluster", Cluster).capacity
        if largest > capacity:
            raise InputError(
                f"asks for a job of {largest} GPUs, but the cluster has {capacity}", field="sizes"
            )

    def _check_share(self) -> None:
        if self.contention_share is None:
            if self.models is None:
                raise InputError("is required without models", field="contention_share")
            return
        share = number(self.contention_share, "contention_share", minimum=0, maximum=1)
        settle(self, contention_share=share)
        if self.models is not None:
            raise InputError("is only allowed without models", field="contention_share")
        if not self.time.slotted:
            raise InputError("is only allowed in slotted time", field="contention_share")
