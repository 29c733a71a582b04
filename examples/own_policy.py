"""A policy of one's own: largest jobs first, on the servers whose uplinks carry the fewest rings."""

from pathlib import Path

import ringsched


class QuietUplinks:
    name = "quiet-uplinks"

    def order(self, job):
        return -job.gpus

    def place(self, job, cluster):
        chosen, missing = {}, job.gpus
        for server in sorted(cluster.servers, key=lambda s: (s.jobs_on_uplink, -len(s.idle))):
            if missing and server.idle:
                chosen[server.name] = server.idle[:missing]
                missing -= len(chosen[server.name])
        return None if missing else chosen  # None: wait until something ends or arrives


if __name__ == "__main__":
    scenario = ringsched.load_scenario(Path(__file__).with_name("first.toml"))
    plan = ringsched.plan(scenario, QuietUplinks())
    assert ringsched.verify(scenario, plan).valid
    print(f"{plan.policy}: makespan {plan.makespan_s:.0f} s, gap {plan.gap:.2f}")
