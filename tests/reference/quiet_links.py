"""The rule of `contention-aware`: one server, else few servers behind the quietest links that suffice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.reference.link_rules import jobs_on_links
from tests.reference.rules import Gpu

from ringsched.model import Job

if TYPE_CHECKING:
    from tests.reference.dispatch import Trial


def quiet_links(trial: Trial, job: Job) -> list[Gpu] | None:
    """The tightest server that holds the job; else level by level of jobs on links, a rack before all."""
    servers, racks = trial.scenario.cluster.servers, trial.scenario.cluster.switches
    idle = trial.state.num_idle()
    fitting = [at for at in range(len(servers)) if idle[at] >= job.gpus]
    if fitting:
        return _packed(trial, [min(fitting, key=lambda at: (idle[at], at))], job.gpus)
    on_link = jobs_on_links(trial)
    own = [on_link["server", server.name] for server in servers]
    # Out of its rack a job crosses the rack's uplink too; inside it does not.
    outside = [
        max(own[at], on_link["rack", server.switch] if server.switch is not None else 0)
        for at, server in enumerate(servers)
    ]
    for level in sorted({0, *(outside[at] for at in range(len(servers)) if idle[at] > 0)}):
        within = {
            rack.name: [
                at for at, server in enumerate(servers) if server.switch == rack.name and own[at] <= level
            ]
            for rack in racks
        }
        total = {name: sum(idle[at] for at in members) for name, members in within.items()}
        enough = [rack.name for rack in racks if total[rack.name] >= job.gpus]
        if enough:
            return _packed(trial, within[min(enough, key=lambda name: total[name])], job.gpus)
        quiet = [at for at in range(len(servers)) if outside[at] <= level]
        if sum(idle[at] for at in quiet) >= job.gpus:
            return _packed(trial, quiet, job.gpus)
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
