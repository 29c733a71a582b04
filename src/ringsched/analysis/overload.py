"""Whether a simulation says something about waiting, or only that the cluster is overloaded."""

from __future__ import annotations

import numpy as np

from ringsched.analysis.over_time import series_means
from ringsched.online.simulation import Simulation
from ringsched.workloads.overload import busiest_load, overload_warning, spans_long_enough

NUM_PARTS = 4  # of the arrivals, over which a queue grows or not
LEFT_WAITING = 0.05  # part of all jobs that waits at the last arrival, if the queue only grows

HELP = "faster links, more GPUs, or a policy that spreads jobs less, such as free-links"


def simulation_warning(simulation: Simulation) -> str | None:
    """Return why the waiting times of a simulation say little, or None.

    Examples
    --------
    >>> import ringsched
    >>> workload = ringsched.Workload.poisson(jobs=200, load=0.3, cluster=ringsched.Cluster.of_servers(4))
    >>> simulation_warning(ringsched.simulate(ringsched.generate(workload))) is None
    True
    """
    scenario, capacity = simulation.scenario, simulation.scenario.cluster.capacity
    best_case_s, gpus = simulation.best_case_s, simulation.gpus
    if len(gpus) < 2 or not spans_long_enough(scenario, float(best_case_s.mean())):
        return None
    span_s = float(simulation.submit_s.max() - simulation.submit_s.min())
    alone = float((gpus * best_case_s).sum()) / (capacity * span_s)
    busiest = busiest_load(scenario)
    load = float((gpus * (simulation.finish_s - simulation.start_s)).sum()) / (capacity * span_s)
    if alone > 1:
        return overload_warning(scenario, alone)
    without = f"{alone:.2f} without"
    if busiest > 1:
        without += f", {busiest:.2f} without in the busiest week"
    if load > 1:
        return (
            f"the load is {load:.2f} with contention ({without}), so the queue grows while jobs arrive; "
            f"{HELP} would help"
        )
    if _only_grows(simulation):
        return (
            f"the queue only grows while jobs arrive, at a load of {load:.2f} with contention ({without}); "
            f"--backfill easy, {HELP} would help"
        )
    return overload_warning(scenario, alone, busiest)


def _only_grows(simulation: Simulation) -> bool:
    """Return whether the queue is longer in every quarter of the arrivals, and long at their end."""
    first_s, last_s = float(simulation.submit_s.min()), float(simulation.submit_s.max())
    means = series_means(simulation.series, np.linspace(first_s, last_s, NUM_PARTS + 1))
    num_waiting = int((simulation.start_s > last_s).sum())
    return bool((np.diff(means) > 0).all()) and num_waiting > LEFT_WAITING * len(simulation.gpus)
