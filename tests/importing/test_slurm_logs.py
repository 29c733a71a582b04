"""Accounting logs of Slurm, and other records without GPU indices, as plans of what happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringsched import Cluster, InputError, Server, import_trace, verify
from ringsched.formats.traces.slurm import gpus_of_tres

SAMPLES = Path(__file__).parents[1] / "traces"
HEADER = "JobID|Submit|Start|End|State|AllocTRES|NodeList"


def log(folder: Path, *rows: str) -> Path:
    path = folder / "sacct.txt"
    path.write_text("\n".join((HEADER, *rows)), encoding="utf-8")
    return path


def row(name: str, start: str, end: str, gpus: int, nodes: str) -> str:
    day = "2024-05-01T"
    return f"{name}|{day}08:00:00|{day}{start}|{day}{end}|COMPLETED|cpu=1,gres/gpu={gpus}|{nodes}"


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("billing=8,cpu=8,gres/gpu=4,mem=1G,node=2", 4),
        ("gres/gpu=4,gres/gpu:a100=4", 4),
        ("gres/gpu:a100=2,gres/gpu:1g.5gb=1", 3),
        ("gpu:tesla:2", 2),
        ("gpu:3", 3),
        ("gres:gpu:1", 1),
        ("cpu=8,mem=1G", 0),
        ("", 0),
    ],
)
def test_gpus_of_resources(text: str, gpus: int) -> None:
    assert gpus_of_tres(text) == gpus


def test_what_happened_is_a_valid_plan() -> None:
    for name, file in (("sacct", "sacct.txt"), ("jobcomp", "jobcomp.txt")):
        trace = import_trace(SAMPLES / file, name, as_plan=True)
        assert trace.plan is not None
        assert verify(trace.scenario, trace.plan).valid
        assert "GPU indices: the lowest free ones of each node" in trace.report.assumed


def test_indices_are_the_lowest_free_ones(tmp_path: Path) -> None:
    path = log(
        tmp_path,
        row("a", "08:00:00", "10:00:00", 2, "n1"),
        row("b", "08:30:00", "09:00:00", 4, "n[1-2]"),
        row("c", "09:00:00", "11:00:00", 1, "n1"),
        row("d", "09:30:00", "11:00:00", 3, "n[2-3]"),
    )
    trace = import_trace(path, "sacct", as_plan=True)
    assert trace.plan is not None
    held = {job.name: {node: tuple(gpus) for node, gpus in job.gpus.items()} for job in trace.plan.jobs}
    assert held == {
        "a": {"n1": (0, 1)},
        "b": {"n1": (2, 3), "n2": (0, 1)},
        "c": {"n1": (2,)},
        "d": {"n2": (0, 1), "n3": (0,)},
    }
    assert [server.gpus for server in trace.scenario.cluster.servers] == [4, 2, 1]
    assert "2 of the jobs have their GPUs split evenly over their nodes" in trace.report.assumed


def test_the_machines_may_be_described(tmp_path: Path) -> None:
    path = log(
        tmp_path,
        row("a", "08:00:00", "10:00:00", 2, "n1"),
        row("b", "08:30:00", "09:00:00", 2, "n1"),
        row("c", "09:00:00", "11:00:00", 1, "elsewhere"),
        row("d", "09:00:00", "11:00:00", 1, "None assigned"),
    )
    cluster = Cluster(
        servers=(Server(name="n1", gpus=3), Server(name="n2", gpus=3)),
        inter_server_gbps=10.0,
        intra_server_gbps=100.0,
        reduce_gbps=100.0,
    )
    trace = import_trace(path, "sacct", as_plan=True, recorded_on=cluster)
    assert trace.scenario.cluster == cluster
    assert [job.name for job in trace.scenario.jobs] == ["a"]
    assert {dropped.reason for dropped in trace.report.dropped} == {
        "overlaps another record",
        "a node that the cluster does not have",
        "no nodes recorded that hold its GPUs",
    }


def test_fields_can_be_fewer_and_end_in_a_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(
        "JobID|Submit|Start|ElapsedRaw|AllocTRES|\n"
        "1|2024-05-01T08:00:00|2024-05-01T08:00:00|3600|gres/gpu=2|\n"
        "2|2024-05-01T08:00:00|2024-05-01T08:00:00|60|gres/gpu=2|\n",
        encoding="utf-8",
    )
    trace = import_trace(path, "sacct")
    assert trace.report.rows_kept == 2


def test_fields_that_lack_are_named(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("JobID|Submit|State\n1|2024-05-01T08:00:00|COMPLETED\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"column 'Start' is missing.*sacct -P -o JobID,Submit,Start,End"):
        import_trace(path, "sacct")


def test_only_completed_jobs() -> None:
    trace = import_trace(SAMPLES / "sacct.txt", "sacct", where="State=COMPLETED")
    assert [job.name for job in trace.scenario.jobs] == ["100", "107"]
    completed = import_trace(SAMPLES / "jobcomp.txt", "jobcomp", where="JobState!=FAILED")
    assert [job.name for job in completed.scenario.jobs] == ["200", "206_1"]


def test_lingjun_with_its_network() -> None:
    tables = {"worker_table": SAMPLES / "lingjun_worker.csv", "topology_table": SAMPLES / "lingjun_topo.csv"}
    trace = import_trace(SAMPLES / "lingjun.csv", "lingjun", as_plan=True, **tables)
    assert trace.plan is not None
    assert verify(trace.scenario, trace.plan).valid
    above = {server.name: server.switch for server in trace.scenario.cluster.servers}
    assert above == {"10.0.0.1": "A1", "10.0.0.2": "A2", "10.0.0.3": "A2"}
    assert any("2 rows of lingjun_worker.csv cannot be read" in text for text in trace.report.assumed)
    with pytest.raises(InputError, match="worker_table is required"):
        import_trace(SAMPLES / "lingjun.csv", "lingjun")
    with pytest.raises(InputError, match="column 'job_name' is missing: not a table of workers"):
        import_trace(SAMPLES / "lingjun.csv", "lingjun", worker_table=SAMPLES / "lingjun_topo.csv")


def test_a_generic_table_with_places() -> None:
    columns = "submit=queued at,start=began,duration=run_min,gpus=gpus,name=job id,placement=hosts"
    trace = import_trace(SAMPLES / "any.csv", "csv", columns=columns, time_zone="Europe/Berlin", as_plan=True)
    assert trace.plan is not None
    assert verify(trace.scenario, trace.plan).valid
    with pytest.raises(InputError, match="as_plan needs placement and start in --map"):
        import_trace(
            SAMPLES / "any.csv", "csv", columns="submit=began,duration=run_min,gpus=gpus", as_plan=True
        )


def test_processors_stand_for_gpus_by_choice() -> None:
    one, four = (
        import_trace(SAMPLES / "swf.swf", "swf", processors_per_gpu=number, cluster=Cluster.of_servers(64))
        for number in (1, 4)
    )
    assert [job.gpus for job in one.scenario.jobs] == [8, 16, 3]
    assert [job.gpus for job in four.scenario.jobs] == [2, 4, 1]
    assert "4 processors are one GPU; --processors-per-gpu sets it" in four.report.assumed
