"""What really happened, as a plan that the verifier accepts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringsched import InputError, import_trace, replay, verify
from ringsched.contention.over_time import Stay, iterations_done
from ringsched.importing.recorded import EARLY_S
from ringsched.model import Cluster, Contention, Job, Placement, Server

SAMPLE = Path(__file__).parents[1] / "traces" / "philly.json"
EPOCH = datetime(2017, 10, 1, tzinfo=UTC)


def record(name: str, submit: int, start: int, end: int, gpus: dict[str, list[int]]) -> dict[str, Any]:
    def written(second: int) -> str:
        return str((EPOCH + timedelta(seconds=second)).replace(tzinfo=None))

    detail = [{"ip": machine, "gpus": [f"gpu{gpu}" for gpu in held]} for machine, held in gpus.items()]
    attempt = {"start_time": written(start), "end_time": written(end), "detail": detail}
    return {"jobid": name, "submitted_time": written(submit), "attempts": [attempt]}


def saved(folder: Path, records: list[dict[str, Any]]) -> Path:
    path = folder / "cluster_job_log"
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def test_the_sample() -> None:
    trace = import_trace(SAMPLE, "philly-json", as_plan=True)
    assert trace.plan is not None
    assert verify(trace.scenario, trace.plan).valid
    assert [server.name for server in trace.scenario.cluster.servers] == ["m2", "m10"]
    assert [server.gpus for server in trace.scenario.cluster.servers] == [3, 6]
    dropped = {row.reason: (row.count, row.first_line) for row in trace.report.dropped}
    assert dropped["overlaps another record"] == (1, 23)
    # Submitted, by its record, after it started: then at its start.
    third = next(job for job in trace.scenario.jobs if job.name == "application_3")
    assert third.submit_s == 7440.0
    assert trace.report.largest_difference_s == pytest.approx(EARLY_S, rel=1e-4)


def test_a_job_that_starts_in_the_second_another_ends_does_not_wait(tmp_path: Path) -> None:
    records = [record(f"j{at}", 0, 7 * at, 7 * at + 7, {"m1": [0], "m2": [1]}) for at in range(50)]
    trace = import_trace(saved(tmp_path, records), "philly-json", as_plan=True)
    assert trace.plan is not None
    assert [job.start_s for job in trace.plan.jobs] == [7.0 * at for at in range(50)]


def test_contention_shows_in_the_iterations(tmp_path: Path) -> None:
    """Two spread jobs on the same machines do less in the same time than one alone."""
    spread = {"m1": [0], "m2": [0]}
    alone = import_trace(
        saved(tmp_path, [record("a", 0, 0, 1000, spread)]), "philly-json", models="vgg16", as_plan=True
    )
    other = record("b", 0, 250, 750, {"m1": [1], "m2": [1]})
    both = import_trace(
        saved(tmp_path, [record("a", 0, 0, 1000, spread), other]), "philly-json", models="vgg16", as_plan=True
    )
    assert both.scenario.jobs[0].iterations < alone.scenario.jobs[0].iterations
    assert both.plan is not None
    assert both.plan.jobs[0].finish_s == pytest.approx(1000, abs=2 * EARLY_S)


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Records on three machines of four GPUs, many of which overlap."""
    records = []
    for at in range(draw(st.integers(1, 12))):
        gpu = st.tuples(st.sampled_from(["m1", "m2", "m3"]), st.integers(0, 3))
        held: dict[str, list[int]] = {}
        for machine, index in draw(st.sets(gpu, min_size=1, max_size=6)):
            held.setdefault(machine, []).append(index)
        submit, wait, duration = draw(st.tuples(*[st.integers(0, 300)] * 2, st.integers(1, 300)))
        records.append(record(f"j{at}", submit, submit + wait - 5, submit + wait - 5 + duration, held))
    return records


@given(records=logs(), seed=st.integers(0, 5))
def test_every_log_makes_a_valid_plan(records: list[dict[str, Any]], seed: int, tmp_path_factory) -> None:
    path = saved(tmp_path_factory.getbasetemp(), records)
    trace = import_trace(path, "philly-json", seed=seed, as_plan=True)
    assert trace.plan is not None
    assert verify(trace.scenario, trace.plan).valid
    assert trace.report.largest_difference_s is not None
    assert trace.report.largest_difference_s <= 2 * EARLY_S
    outcome = replay(trace.scenario, trace.plan)
    assert outcome.finishes_s == tuple(job.finish_s for job in trace.plan.jobs)


def test_iterations_by_hand() -> None:
    """Exchange of 1 s alone and 2 s when shared; half a second of computation."""
    job = Job(
        name="a", gpus=2, iterations=1, gradient_mb=1250.0, minibatch=1, forward_ms=0.0, backward_ms=500.0
    )
    cluster = Cluster(
        servers=(Server(name="m1", gpus=2), Server(name="m2", gpus=2)),
        inter_server_gbps=10.0,
        intra_server_gbps=100.0,
        reduce_gbps=1e30,
    )
    stays = [
        Stay(job, 0.0, 30.0, Placement({"m1": [0], "m2": [0]})),
        Stay(job.replace(name="b"), 15.0, 20.0, Placement({"m1": [1], "m2": [1]})),
    ]
    contention = Contention()  # the paper's rule, without losses
    assert iterations_done(stays, cluster, contention) == pytest.approx([25 / 1.5 + 5 / 2.5, 5 / 2.5])


def test_what_a_plan_cannot_be_made_of(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no record of a job that ran"):
        import_trace(saved(tmp_path, []), "philly-json", as_plan=True)
    with pytest.raises(InputError, match="needs a trace that says where jobs ran"):
        import_trace(SAMPLE.with_name("philly.csv"), "philly", as_plan=True)
    with pytest.raises(InputError, match="that of a recorded plan is the machines seen"):
        import_trace(SAMPLE, "philly-json", cluster="examples/first.toml", as_plan=True)
