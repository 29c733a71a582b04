"""`carry_out()`: run a small plan on the testbed, with every job started at its planned time."""

from __future__ import annotations

from dataclasses import dataclass

from ringsched.calibrate.namespaces import MOST_JOBS, PAYLOAD
from ringsched.calibrate.noise import Noise
from ringsched.calibrate.testbed import MOST_SERVERS, Testbed, TestJob
from ringsched.engine.problem import problem_of
from ringsched.errors import InputError
from ringsched.model import Plan, Scenario

LONGEST_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedOutJob:
    """A job of a plan: when it should have started and finished, and when it did."""

    name: str
    servers: tuple[str, ...]
    start_s: float
    finish_s: float
    measured_start_s: float
    measured_finish_s: float

    @property
    def error(self) -> float:
        """Relative error of the planned duration."""
        real_s = self.measured_finish_s - self.measured_start_s
        return (self.finish_s - self.start_s) / real_s - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedOut:
    """The measured run of a plan; all times count from its first release."""

    jobs: tuple[CarriedOutJob, ...]
    noise: Noise  # over the whole run

    @property
    def makespan_s(self) -> float:
        """The measured end of the last job."""
        return max(job.measured_finish_s for job in self.jobs)


def bed_for(scenario: Scenario, plan: Plan, python: str | None = None) -> Testbed:
    """Return a testbed like the scenario's cluster, or raise if its plan cannot run on one."""
    cluster = scenario.cluster
    if len(cluster.servers) > MOST_SERVERS:
        raise InputError(f"has {len(cluster.servers)} servers; the testbed has at most {MOST_SERVERS}")
    if cluster.switches or any(server.uplink_gbps is not None for server in cluster.servers):
        switches = cluster.switch_words.table
        raise InputError(
            f"has {switches} or uplinks of different speed; on the testbed all links have the same speed"
        )
    if not 0 < len(plan.jobs) <= MOST_JOBS:
        raise InputError(f"has {len(plan.jobs)} jobs; the testbed runs 1 to {MOST_JOBS}")
    for job in scenario.jobs:
        if job.gpus < 2 or job.gradient_mb <= 0 or job.running_on is not None:
            raise InputError(
                f"job {job.name!r} cannot run on the testbed: it exchanges nothing, or is already running"
            )
        if job.buckets > 1 and python is None:
            raise InputError(
                f"job {job.name!r} has {job.buckets} buckets, which rings do not have; use --worker torch"
            )
    if plan.makespan_s > LONGEST_S:
        raise InputError(
            f"the plan takes {plan.makespan_s:.0f} s; the testbed runs at most {LONGEST_S:.0f} s"
        )
    return Testbed(len(cluster.servers), cluster.inter_server_gbps * 1e3 / PAYLOAD)


def carry_out(scenario: Scenario, plan: Plan, testbed: Testbed, python: str | None = None) -> CarriedOut:
    """Run the jobs of a plan on a started testbed; with a Python that has torch, as DDP jobs."""
    at = {server.name: index for index, server in enumerate(scenario.cluster.servers)}
    origin_s = problem_of(scenario).origin_s
    jobs = [
        TestJob(
            placement=tuple(at[server] for server, held in planned.gpus.items() for _ in held),
            message_mb=job.gradient_mb,
            compute_s=job.compute_s,
            start_s=planned.start_s - origin_s,
            iterations=job.iterations,
            backward_s=0.0 if python is None else job.backward_s,
            buckets=job.buckets,
            python=python,
        )
        for job, planned in zip(scenario.jobs, plan.jobs, strict=True)
    ]
    done = testbed.run(jobs)
    return CarriedOut(
        jobs=tuple(
            CarriedOutJob(
                name=planned.name,
                servers=tuple(planned.gpus),
                start_s=planned.start_s - origin_s,
                finish_s=planned.finish_s - origin_s,
                measured_start_s=run.iterations[0].start_s,
                measured_finish_s=run.iterations[-1].start_s + run.iterations[-1].seconds,
            )
            for planned, run in zip(plan.jobs, done.jobs, strict=True)
        ),
        noise=done.noise,
    )
