"""Everything that speaks of iteration times agrees with the engine, under every contention model."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, find, given
from hypothesis import strategies as st
from tests.differential.test_engine import Anywhere
from tests.effort import examples
from tests.strategies import contentions, fair_contentions, scenarios

import ringsched
from ringsched import Contention, Scenario
from ringsched.calibrate.predict import Placed, predict
from ringsched.clusters.contention_now import contention_now
from ringsched.clusters.progress import done_iterations
from ringsched.contention.over_time import Stay, iterations_done
from ringsched.contention.sharing import iteration_time
from ringsched.engine.events import settle, start
from ringsched.engine.problem import problem_of
from ringsched.engine.state import arrays_of, new_state, reset
from ringsched.model.calibration import Calibration
from ringsched.model.contention import model_names


def any_contention() -> st.SearchStrategy[Contention]:
    return st.one_of(contentions(), fair_contentions())


def test_every_model_is_drawn() -> None:
    """A model that is added has to be added to the strategies too."""
    for name in model_names():
        find(any_contention(), lambda settings, name=name: settings.model == name)  # type: ignore[misc]


def taus_in_engine(scenario: Scenario) -> dict[str, float]:
    """Seconds per iteration, by name, of the jobs that run at time 0, as the engine has them."""
    problem = problem_of(scenario)
    arrays = arrays_of(problem)
    state = new_state(arrays)
    reset(arrays, state)
    for job, gpus in problem.running.items():
        state.chosen[: len(gpus)] = gpus
        start(arrays, state, job, 0)
    settle(arrays, state)
    return {
        scenario.jobs[job].name: float(iteration_time(arrays.links, state.traffic, job))
        for job in problem.running
    }


@st.composite
def crowds(draw: st.DrawFn) -> Scenario:
    """A scenario whose jobs all run already, as far as there are GPUs for them."""
    scenario = draw(scenarios(model="continuous", contention=any_contention(), plain=True, max_jobs=8))
    free = draw(
        st.permutations(
            [
                (server.name, gpu)
                for server in scenario.cluster.servers
                for gpu in range(server.gpus)
                if gpu not in server.unavailable
            ]
        )
    )
    running = []
    for job in scenario.jobs:
        gpus = min(job.gpus, 4)
        if gpus <= len(free):
            held: dict[str, list[int]] = {}
            for server, gpu in free[:gpus]:
                held.setdefault(server, []).append(gpu)
            free = free[gpus:]
            running.append(job.replace(gpus=gpus, running_on=held))
    assume(running)
    return scenario.replace(jobs=tuple(running))


@examples(300)
@given(crowds())
def test_slurm_status_shows_the_slowdown_of_the_engine(scenario: Scenario) -> None:
    taus, problem = taus_in_engine(scenario), problem_of(scenario)
    now = contention_now(scenario)
    assert now.slowdown.keys() == taus.keys()
    for at, job in enumerate(scenario.jobs):
        alone_s = problem.alone_tau(at, problem.shape(problem.running[at]))
        assert now.slowdown[job.name] == pytest.approx(taus[job.name] / alone_s, rel=1e-12)


@examples(300)
@given(scenarios(model="continuous", contention=any_contention()), st.integers(0, 10**6))
def test_progress_and_recorded_placements_count_the_iterations_of_the_engine(
    scenario: Scenario, seed: int
) -> None:
    """From start to finish as the engine has them, a job does all its iterations, whoever is around."""
    plan = ringsched.plan(scenario, Anywhere(random.Random(seed)))
    planned = list(zip(scenario.jobs, plan.jobs, strict=True))
    stays = [Stay(job, entry.start_s, entry.finish_s, entry.gpus) for job, entry in planned]
    recorded = iterations_done(stays, scenario.cluster, scenario.contention)
    end_s = max(entry.finish_s for _, entry in planned)
    running = [stay for stay in stays if stay.end_s == end_s]
    over = [stay for stay in stays if stay.end_s < end_s]
    progress = done_iterations(running, over, scenario.cluster, scenario.contention)
    for (job, entry), done in zip(planned, recorded, strict=True):
        if entry.finish_s > entry.start_s:
            assert done == pytest.approx(job.remaining_iterations, rel=1e-6)
        if entry.finish_s == end_s and entry.finish_s - entry.start_s > 0.01:
            assert progress[job.name] == pytest.approx(job.remaining_iterations, rel=1e-6)


@examples(200)
@given(st.sampled_from(["paper", "max-min", "phases"]), st.randoms(use_true_random=False))
def test_predictions_of_a_calibration_are_those_of_the_engine(model: str, draw: random.Random) -> None:
    measured = Calibration(
        inter_server_gbps=2.5,
        intra_server_gbps=50.0,
        reduce_gbps=90.0,
        server_latency_ms=0.3,
        degradation=0.2,
    )
    placed = [
        Placed(
            placement=tuple(draw.randrange(4) for _ in range(draw.randint(2, 4))),
            message_mb=draw.choice([2.0, 7.0]),
            compute_s=draw.choice([0.01, 0.2]),
        )
        for _ in range(draw.randint(1, 5))
    ]
    used = [0] * 4
    jobs = []
    for at, job in enumerate(placed):
        held: dict[str, list[int]] = {}
        for server in job.placement:
            held.setdefault(f"s{server}", []).append(used[server])
            used[server] += 1
        jobs.append(
            ringsched.Job(
                name=f"j{at}",
                gpus=len(job.placement),
                iterations=5,
                gradient_mb=job.message_mb,
                minibatch=1,
                forward_ms=0.0,
                backward_ms=1e3 * job.compute_s,
                running_on=held,
            )
        )
    cluster = ringsched.Cluster(
        servers=tuple(ringsched.Server(name=f"s{at}", gpus=20) for at in range(4)),
        inter_server_gbps=2.5,
        intra_server_gbps=50.0,
        reduce_gbps=90.0,
    )
    extra = {"degradation": 0.2} if model == "paper" else {}
    scenario = Scenario(
        cluster=cluster,
        jobs=tuple(jobs),
        contention=Contention(model=model, server_latency_ms=0.3, **extra),
        time=ringsched.Time(model="continuous"),
    )
    taus = taus_in_engine(scenario)
    assert predict(placed, measured, model) == pytest.approx(list(taus.values()), rel=1e-12)
