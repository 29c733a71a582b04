"""The rule of `contention-aware`: one server, else few servers behind the quietest links that suffice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.reference.formulas import nodes_above
from tests.reference.link_rules import jobs_on_links
from tests.reference.rules import Gpu

from ringsched.model import Job

if TYPE_CHECKING:
    from tests.reference.dispatch import Trial


def quiet_links(trial: Trial, job: Job) -> list[Gpu] | None:
    """The tightest server that holds the job; else level by level of jobs on links, a switch before all."""
    servers, switches = trial.scenario.cluster.servers, trial.scenario.cluster.switches
    idle = trial.state.num_idle()
    fitting = [at for at in range(len(servers)) if idle[at] >= job.gpus]
    if fitting:
        return _packed(trial, [min(fitting, key=lambda at: (idle[at], at))], job.gpus)
    on_link, above = jobs_on_links(trial), nodes_above(trial.scenario)
    paths = [above[server.name] for server in servers]
    to_core = [max(on_link[node] for node in path) for path in paths]
    for level in sorted({0, *(to_core[at] for at in range(len(servers)) if idle[at] > 0)}):
        best: list[int] | None = None
        for switch in switches:
            # A job below the switch crosses the links of its servers up to there, and no others.
            members = [
                at
                for at, path in enumerate(paths)
                if ("switch", switch.name) in path
                and all(on_link[node] <= level for node in path[: path.index(("switch", switch.name))])
            ]
            total = sum(idle[at] for at in members)
            if total >= job.gpus and (best is None or total < sum(idle[at] for at in best)):
                best = members
        quiet = [at for at in range(len(servers)) if to_core[at] <= level]
        if best is None and sum(idle[at] for at in quiet) >= job.gpus:
            best = quiet
        if best is not None:
            return _packed(trial, best, job.gpus)
    return None


def _packed(trial: Trial, servers: list[int], wanted: int) -> list[Gpu]:
    """The emptiest servers, and as the last one the fullest that holds the rest."""
    idle, left = trial.state.num_idle(), list(servers)
    gpus: list[Gpu] = []
    while len(gpus) < wanted:
        rest = wanted - len(gpus)
        fitting = [at for at in left if idle[at] >= rest]
        if fitting:
            server = min(fitting, key=lambda at: (idle[at], at))
        else:
            server = min(left, key=lambda at: (-idle[at], at))
        left.remove(server)
        free = [gpu for gpu, is_idle in trial.state.idle.items() if is_idle and gpu[0] == server]
        gpus += free[:rest]
    return gpus
