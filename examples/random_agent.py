"""A random agent in the Gymnasium environment, beside a built-in policy. Needs `pip install '.[gym]'`."""

import ringsched
from ringsched.online.gym import SchedulingEnv

cluster = ringsched.Cluster.of_servers(4)
workload = ringsched.Workload.poisson(load=0.9, jobs=100, cluster=cluster)


def draw(seed):
    return ringsched.generate(workload, seed=seed)


env = SchedulingEnv(draw, window=8)
env.action_space.seed(0)
for episode in range(3):
    observation, info = env.reset(seed=episode)
    total, is_over = 0.0, False
    while not is_over:
        action = env.action_space.sample(mask=info["action_mask"])
        observation, reward, is_over, _, info = env.step(action)
        total += reward
    scenario = env.simulation().scenario
    shortest = ringsched.simulate(scenario, "shortest-first", backfill="easy")
    print(
        f"episode {episode}: mean completion {-total / 3600:.2f} h by the random agent, "
        f"{shortest.mean_completion_s / 3600:.2f} h by shortest-first"
    )
