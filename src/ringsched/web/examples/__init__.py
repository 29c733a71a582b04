"""Scenarios to begin with: some written by hand, some drawn from a seed."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ringsched.errors import UnknownName
from ringsched.formats.scenario import scenario_from_dict
from ringsched.model import Cluster, Scenario


class Example(NamedTuple):
    """A scenario and what it shows."""

    title: str
    make: Callable[[], Scenario]


def example_scenario(name: str) -> Scenario:
    """Return an example by its name.

    Examples
    --------
    >>> len(example_scenario("small").jobs)
    6
    """
    if name not in EXAMPLES:
        raise UnknownName("example", name, EXAMPLES)
    return EXAMPLES[name].make()


def _written(name: str) -> Callable[[], Scenario]:
    def make() -> Scenario:
        text = files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
        return scenario_from_dict(tomllib.loads(text))

    return make


@cache
def _paper() -> Scenario:
    from ringsched.workloads import Workload, generate

    return generate(Workload.paper(horizon_s=None), seed=1).replace(name="the paper's mix")


@cache
def _large() -> Scenario:
    from ringsched.workloads import Workload, generate

    workload = Workload.uniform(jobs=2_000, cluster=Cluster.of_servers(250, switches=10))
    return generate(workload).replace(name="uniform mix in 10 racks")


EXAMPLES: Mapping[str, Example] = {
    "small": Example("6 jobs on 4 servers", _written("small")),
    "racks": Example("12 jobs on two racks with thin uplinks", _written("racks")),
    "paper": Example("160 jobs on 20 servers, the paper's mix", _paper),
    "large": Example("2,000 jobs on 250 servers in 10 racks", _large),
}
