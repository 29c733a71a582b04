"""The ledger of a scenario and its plan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ringsched.analysis.explain.ledger import (
    Entries,
    JobAccount,
    Ledger,
    LinkAccount,
)
from ringsched.analysis.explain.parts import Floats, Parts, Shares, Split, Timeline
from ringsched.analysis.planned_run import planned_run
from ringsched.contention.network import Shape
from ringsched.engine.problem import Problem, problem_of
from ringsched.engine.state import Run
from ringsched.model import Plan, Scenario
from ringsched.model.checks import instance


def explain(scenario: Scenario, plan: Plan) -> Ledger:
    """Account for every second of every job: best case, spreading, contention, rounding.

    Parameters
    ----------
    plan
        A valid plan for this scenario.

    Raises
    ------
    InputError
        The plan was made for another scenario, or its jobs would start or finish at other times.

    Examples
    --------
    >>> import math
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> ledger = ringsched.explain(scenario, ringsched.plan(scenario, "first-fit"))
    >>> account = ledger.job("vgg-sweep-1")
    >>> parts = (account.best_case_s, account.spreading_s, account.contention_s, account.rounding_s)
    >>> math.fsum(parts) == account.duration_s
    True
    """
    problem = problem_of(instance(scenario, "scenario", Scenario))
    return ledger_of(Split(problem, planned_run(problem, instance(plan, "plan", Plan))), plan)


def ledger_of(split: Split, plan: Plan) -> Ledger:
    """Return the ledger of a plan whose run has been split."""
    problem, run = split.problem, split.run
    links, waited_for = _links(problem.scenario), _waited_for(problem, run)
    labels = [label for label, _, _ in links]
    jobs, shares = [], []
    lost_on_link = np.zeros(len(links))
    for at, shape in enumerate(split.shapes):
        lost_s: list[float] = []
        share = Shares.none()
        intervals = split.intervals(at) if shape.links else None
        if intervals is not None:
            lost_s, share = intervals.lost_s.tolist(), split.shares(at, intervals)
            np.add.at(lost_on_link, np.array(shape.links)[intervals.bottleneck], lost_s)
        shares.append(share)
        parts, hidden_s = split.parts(at, lost_s), split.hidden_s(at, intervals)
        jobs.append(_job_account(problem, run, at, parts, hidden_s, shape, labels, waited_for[at]))
    return Ledger(
        scenario=problem.scenario,
        plan=plan,
        origin_s=problem.origin_s,
        jobs=tuple(jobs),
        links=tuple(
            _link_account(problem, split, node, link, float(lost_on_link[node]))
            for node, link in enumerate(links)
        ),
        entries=_entries(shares),
    )


def _job_account(
    problem: Problem,
    run: Run,
    at: int,
    parts: Parts,
    hidden_s: float,
    shape: Shape,
    labels: Sequence[str],
    waited_for: Sequence[int],
) -> JobAccount:
    jobs = problem.scenario.jobs
    waiting_s = problem.clock.seconds(run.starts[at]) - (jobs[at].submit_s - problem.origin_s)
    return JobAccount(
        name=jobs[at].name,
        gpus=jobs[at].gpus,
        num_servers=shape.num_servers,
        links=tuple(labels[link] for link in shape.links),
        submit_s=jobs[at].submit_s,
        start_s=problem.seconds_at(run.starts[at]),
        finish_s=problem.seconds_at(run.finishes[at]),
        # Rounding may put a slot slightly before the submit.
        waiting_s=max(0.0, waiting_s),
        waited_for=tuple(jobs[other].name for other in waited_for),
        duration_s=problem.clock.seconds(run.finishes[at] - run.starts[at]),
        best_case_s=parts.best_case_s,
        spreading_s=parts.spreading_s,
        contention_s=parts.contention_s,
        rounding_s=parts.rounding_s,
        hidden_s=hidden_s,
    )


def _links(scenario: Scenario) -> list[tuple[str, str, str]]:
    """Return label, kind and name of every uplink, in the order of the nodes.

    Only the topmost switch may have none, and it is the last node.
    """
    cluster, word = scenario.cluster, scenario.cluster.switch_words.one
    servers = [(server.name, "server", server.name) for server in cluster.servers]
    switches = [switch.name for switch in cluster.switches if switch.uplink_gbps is not None]
    return servers + [(f"{word} {name}", word, name) for name in switches]


def _waited_for(problem: Problem, run: Run) -> list[list[int]]:
    """Return, for each job that had to wait, the jobs that left its GPUs at the instant it started."""
    left: dict[tuple[int, float], int] = {
        (gpu, run.finishes[job]): job for job in range(problem.num_jobs) for gpu in run.gpus[job]
    }
    return [
        sorted({left[gpu, start] for gpu in gpus if (gpu, start) in left} - {job})
        if start > problem.release[job]
        else []
        for job, (start, gpus) in enumerate(zip(run.starts, run.gpus, strict=True))
    ]


def _link_account(
    problem: Problem, split: Split, node: int, link: tuple[str, str, str], lost_s: float
) -> LinkAccount:
    label, kind, name = link
    line = split.timelines[node]
    return LinkAccount(
        label=label,
        kind=kind,
        name=name,
        uplink_gbps=problem.network.uplink_gbps[node],
        contention_s=lost_s,
        contended_s=problem.clock.seconds(_contended(line, split.factors)),
        jobs=len(line.jobs),
        times_s=tuple(problem.seconds_at(instant) for instant in line.instants.tolist()),
        num_jobs=tuple(line.num_jobs.tolist()),
    )


def _contended(line: Timeline, factors: Floats) -> float:
    """Return how long the jobs on a link slow each other."""
    if not len(line.instants):
        return 0.0
    slowed = factors[line.num_jobs[:-1]] > factors[1]
    return float(np.diff(line.instants)[slowed & (line.num_jobs[:-1] > 0)].sum())


def _entries(shares: Sequence[Shares]) -> Entries:
    victims = [np.full(len(share.seconds), job, dtype=np.int64) for job, share in enumerate(shares)]
    none = Shares.none()
    return Entries(
        victim=np.concatenate([none.links, *victims]),
        culprit=np.concatenate([none.culprits, *(share.culprits for share in shares)]),
        link=np.concatenate([none.links, *(share.links for share in shares)]),
        seconds=np.concatenate([none.seconds, *(share.seconds for share in shares)]),
    )
