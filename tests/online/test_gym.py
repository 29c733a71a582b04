"""The Gymnasium environment: Gymnasium's own check, and the same run as the simulation."""

from __future__ import annotations

import warnings

import pytest

import ringsched
from ringsched import InputError, Scenario

pytest.importorskip("gymnasium", reason="gymnasium is missing: pip install '.[gym]'")


def drawn(seed: int, servers: int = 2) -> Scenario:
    cluster = ringsched.Cluster.of_servers(servers, 4)
    workload = ringsched.Workload.poisson(load=1.2, jobs=30, cluster=cluster)
    return ringsched.generate(workload, seed=seed)


def test_gymnasium_accepts_it() -> None:
    from gymnasium.utils.env_checker import check_env

    from ringsched.online.gym import SchedulingEnv

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # It has no render modes, and is made without gymnasium.make.
        warnings.filterwarnings("ignore", message=".*not having a spec.*")
        check_env(SchedulingEnv(drawn, window=4))


def test_rewards_add_up_to_the_mean_completion_and_the_plan_is_valid() -> None:
    from ringsched.online.gym import SchedulingEnv

    env = SchedulingEnv(drawn(1), window=4, estimate_error=1.0)
    env.action_space.seed(5)
    for _ in range(2):  # an episode can be repeated
        _, info = env.reset(seed=1)
        total, is_over = 0.0, False
        while not is_over:
            _, reward, is_over, _, info = env.step(env.action_space.sample(mask=info["action_mask"]))
            total += reward
        simulation = env.simulation()
        assert simulation.mean_completion_s == pytest.approx(-total)
        assert ringsched.verify(simulation.scenario, simulation.plan()).valid


def test_the_first_job_whenever_it_fits_is_fifo() -> None:
    from ringsched.online.gym import SchedulingEnv

    case = drawn(2)
    env = SchedulingEnv(case, window=1)
    env.reset(seed=0)
    is_over = False
    while not is_over:
        *_, is_over, _, _ = env.step(0)  # type: ignore[arg-type]
    assert env.simulation().start_s.tolist() == ringsched.simulate(case, "fifo").start_s.tolist()


def test_what_cannot_be_an_environment() -> None:
    from ringsched.online.gym import SchedulingEnv

    with pytest.raises(InputError, match="no jobs"):
        SchedulingEnv(drawn(0).replace(jobs=()))
    env = SchedulingEnv(lambda seed: drawn(seed, servers=2 if seed == 0 else 3))
    with pytest.raises(InputError, match="must have 2 servers"):
        env.reset(seed=1)
    env = SchedulingEnv(drawn(0))
    env.reset(seed=0)
    with pytest.raises(InputError, match="not over"):
        env.simulation()
