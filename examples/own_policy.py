"""Two custom policies: one in plain Python, one with a placement rule that can be compiled.

`ringsched plan first.toml --policy own_policy.py:QuietUplinks` uses the first one.
"""

from pathlib import Path

import ringsched
from ringsched.rules.best_fit import take
from ringsched.rules.shared import sort


class QuietUplinks:
    """Largest jobs first, on the servers whose uplinks carry the fewest rings."""

    name = "quiet-uplinks"

    def order(self, job):
        return -job.gpus

    def place(self, job, cluster):
        chosen, missing = {}, job.gpus
        for server in sorted(cluster.servers, key=lambda s: (s.jobs_on_uplink, -len(s.idle))):
            if missing and server.idle:
                chosen[server.name] = server.idle[:missing]
                missing -= len(chosen[server.name])
        return None if missing else chosen  # None: wait until a job ends or arrives


def emptiest_first(arrays, state, scratch, queue, job, limit, kappa):  # noqa: ARG001 - all rules have these
    """Choose idle GPUs of the emptiest server, then of the next one, until the job has enough."""
    wanted, num_chosen = arrays.gpus[job], 0
    scratch.taken[:] = False
    while num_chosen < wanted:
        emptiest = -1
        for server in range(arrays.num_servers):
            more = emptiest < 0 or state.num_idle[server] > state.num_idle[emptiest]
            if more and not scratch.taken[server]:
                emptiest = server
        scratch.taken[emptiest] = True
        num_chosen = take(arrays, state, emptiest, num_chosen, wanted)
    sort(state.chosen, wanted)
    return True


emptiest_servers = ringsched.Policy(
    name="emptiest-servers",
    order="longest-first",
    placement=ringsched.Rule("emptiest servers first", emptiest_first),
)


if __name__ == "__main__":
    scenario = ringsched.load_scenario(Path(__file__).with_name("first.toml"))
    for policy in (QuietUplinks(), emptiest_servers):
        plan = ringsched.plan(scenario, policy)
        assert ringsched.verify(scenario, plan).valid
        print(f"{plan.policy}: makespan {plan.makespan_s:.0f} s, gap {plan.gap:.2f}")
    simulation = ringsched.simulate(scenario, emptiest_servers, backfill="easy")
    print(f"{emptiest_servers.name}, over time: mean completion {simulation.mean_completion_s:.0f} s")
