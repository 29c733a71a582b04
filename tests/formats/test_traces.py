"""Importers: what is kept, what is dropped and why; the samples lie in tests/traces."""

from __future__ import annotations

import contextlib
import gzip
import os
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringsched
from ringsched import Cluster, Contention, InputError, import_trace
from ringsched.engine.problem import problem_of
from ringsched.errors import UnknownName
from ringsched.formats.traces.formats import FORMATS
from ringsched.formats.traces.philly import BROKEN, CHUNK, JsonStream
from ringsched.formats.traces.rows import TraceRow
from ringsched.importing import ImportedTrace
from ringsched.importing.cluster import surroundings_of
from ringsched.importing.models import models_of

SAMPLES = Path(__file__).parents[1] / "traces"
OTHER_FILES = {"csv": "any.csv", "philly-json": "philly.json", "sacct": "sacct.txt"}
OTHER_FILES |= {"jobcomp": "jobcomp.txt", "swf": "swf.swf"}
SAMPLE = {name: SAMPLES / OTHER_FILES.get(name, f"{name}.csv") for name in FORMATS}
COLUMNS = {
    **{"submit": "queued at", "start": "Began", "end": "Stopped", "duration": "RUN_MIN", "gpus": "GPUs"},
    **{"name": "Job ID", "model": "Net", "placement": "Hosts"},
}
# What a format cannot do without.
NEEDED: dict[str, dict[str, Any]] = {
    "csv": {"columns": COLUMNS},
    "lingjun": {"worker_table": SAMPLES / "lingjun_worker.csv"},
}


def imported(path: Path, name: str, **options: Any) -> ImportedTrace:
    return import_trace(path, name, **NEEDED.get(name, {}), **options)


# What becomes of every row of the samples: jobs by name, reasons with count and first line.
EXPECTED: dict[str, tuple[list[str], dict[str, tuple[int, int]]]] = {
    "philly": (
        ["job-3", "job-5", "job-2", "job-21"],
        {
            "malformed num_gpus": (4, 15),
            "malformed duration": (3, 11),
            "malformed timestamp": (2, 13),
            "no duration": (2, 8),
            "wrong number of cells": (2, 20),
            "larger than the cluster": (1, 6),
            "no GPU": (1, 7),
            "no submit time": (1, 10),
        },
    ),
    "philly-json": (
        ["application_2", "application_1", "application_4", "application_3"],
        {
            "no start or end recorded": (2, 28),
            "malformed attempts": (1, 53),
            "malformed detail": (1, 50),
            "malformed end_time - start_time": (1, 41),
            "malformed gpus": (1, 47),
            "malformed jobid": (1, 54),
            "malformed submitted_time": (1, 44),
            "never started": (1, 27),
            "no GPU": (1, 32),
            "no duration": (1, 38),
            "no submit time": (1, 35),
            "not JSON": (1, 58),
            "not a record": (1, 57),
            "same name as an earlier job": (1, 59),
        },
    ),
    "tiresias": (
        ["0", "3", "1", "2", "4"],
        {
            "larger than the cluster": (1, 16),
            "malformed duration": (1, 13),
            "malformed num_gpu": (1, 11),
            "malformed submit_time": (1, 12),
            "no GPU": (1, 8),
            "no duration": (1, 9),
            "no submit time": (1, 10),
            "same name as an earlier job": (1, 15),
            "wrong number of cells": (1, 14),
        },
    ),
    "muri": (
        ["0", "2", "1"],
        {
            "malformed duration": (1, 7),
            "no GPU": (1, 5),
            "no duration": (1, 6),
            "wrong number of cells": (1, 8),
        },
    ),
    "helios": (
        ["102", "101"],
        {
            "no duration": (2, 5),
            "malformed gpu_num": (1, 7),
            "malformed submit_time": (1, 8),
            "no GPU": (1, 4),
            "same name as an earlier job": (1, 9),
        },
    ),
    "acme": (
        ["5002", "5001", "5004"],
        {
            "malformed end_time - start_time": (1, 7),
            "malformed start_time": (1, 9),
            "no GPU": (1, 4),
            "no duration": (1, 6),
            "no submit time": (1, 8),
        },
    ),
    "itp": (
        ["6b2d-02", "job-8", "6b2d-01"],
        {
            "malformed duration": (1, 5),
            "malformed num_gpu": (1, 6),
            "no duration": (1, 4),
            "no submit time": (1, 7),
            "wrong number of cells": (1, 9),
        },
    ),
    "csv": (
        ["2", "3", "1", "4"],
        {
            "malformed gpus": (1, 11),
            "malformed hosts": (1, 13),
            "malformed queued at": (1, 9),
            "malformed run_min": (1, 7),
            "no GPU": (1, 10),
            "no duration": (1, 6),
            "no submit time": (1, 14),
            "same name as an earlier job": (1, 15),
            "wrong number of cells": (1, 12),
        },
    ),
    "sacct": (
        ["100", "105", "101_7", "107"],
        {
            "a step of a job": (2, 3),
            "never started": (2, 6),
            "malformed End - Start": (1, 11),
            "no GPU": (1, 7),
            "no duration": (1, 15),
            "no start or end recorded": (1, 8),
            "no submit time": (1, 13),
            "same name as an earlier job": (1, 16),
            "wrong number of cells": (1, 14),
        },
    ),
    "jobcomp": (
        ["201", "200", "206_1"],
        {
            "malformed StartTime": (1, 6),
            "never started": (1, 4),
            "no GPU": (1, 5),
            "no submit time": (1, 7),
            "not a record": (1, 8),
        },
    ),
    "swf": (
        ["1", "2", "9"],
        {
            "larger than the cluster": (1, 14),
            "malformed run time": (1, 10),
            "never started": (1, 6),
            "no GPU": (1, 7),
            "no duration": (1, 8),
            "no submit time": (1, 11),
            "same name as an earlier job": (1, 13),
            "wrong number of cells": (1, 9),
        },
    ),
    "chronus": (
        ["1", "2"],
        {"malformed duration": (1, 5), "no GPU": (1, 4), "wrong number of cells": (1, 6)},
    ),
    "openb": (
        ["openb-pod-0000", "openb-pod-0002", "openb-pod-0001"],
        {
            "malformed deletion_time - scheduled_time": (1, 8),
            "malformed num_gpu": (1, 9),
            "never started": (1, 6),
            "no GPU": (1, 5),
            "no start or end recorded": (1, 7),
            "no submit time": (1, 10),
            "same name as an earlier job": (1, 12),
            "wrong number of cells": (1, 11),
        },
    ),
    "lingjun": (
        ["dlc1", "dlc2", "dlc3"],
        {
            "malformed gmt_job_finished - gmt_job_running": (1, 8),
            "never started": (1, 6),
            "no start or end recorded": (1, 7),
            "no submit time": (1, 9),
            "no workers recorded": (1, 5),
            "wrong number of cells": (1, 10),
        },
    ),
}

# Of the same jobs: GPUs, submit since the first, recorded seconds.
FIGURES = {
    "philly": [(16, 0.0, 7200.0), (8, 1800.5, 90.5), (1, 3600.0, 600.0), (1, 7200.0, 60.0)],
    "philly-json": [(2, 0.0, 9000.0), (4, 60.0, 7200.0), (1, 3720.0, 1800.0), (1, 7470.0, 1.0)],
    "tiresias": [(1, 0.0, 164), (4, 20.0, 121), (8, 30.0, 147), (2, 53.0, 127), (1, 79.0, 121)],
    "muri": [(1, 0.0, 890.0), (16, 150.25, 500.5), (8, 201.694, 1704.0)],
    "helios": [(32, 0.0, 600.0), (8, 3600.0, 3600.0)],
    "acme": [(64, 0.0, 3600.0), (8, 1102.0, 120.0), (1, 1438.0, 77.0)],
    "itp": [(16, 0.0, 10.0), (1, 2.0, 20.0), (4, 566.0, 3890.0)],
    "csv": [(2, 0.0, 1800.0), (1, 0.0, 2700.0), (8, 9000.0, 3600.0), (4, 18000.0, 3600.0)],
    "sacct": [(4, 0.0, 7200.0), (3, 30.0, 3600.0), (2, 60.0, 1800.0), (3, 300.0, 3600.0)],
    "jobcomp": [(1, 0.0, 600.0), (8, 1800.0, 7200.0), (2, 3600.0, 3600.0)],
    "swf": [(8, 0.0, 3600.0), (16, 60.0, 1800.0), (3, 240.0, 900.0)],
    "chronus": [(8, 0.0, 7200.0), (1, 1800.0, 900.0)],
    "openb": [(1, 0.0, 12537386.0), (8, 426900.0, 3600.0), (1, 426961.0, 12475899.0)],
    "lingjun": [(16, 0.0, 14400.0), (2, 1800.0, 3600.0), (8, 14400.0, 3600.0)],
}


def written(folder: Path, content: str | bytes, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", FORMATS)
class TestSamples:
    def test_rows_are_kept_or_dropped_with_a_reason(self, name: str) -> None:
        trace = imported(SAMPLE[name], name)
        names, dropped = EXPECTED[name]
        assert [job.name for job in trace.scenario.jobs] == names
        found = {row.reason: (row.count, row.first_line) for row in trace.report.dropped}
        assert found == dropped
        assert trace.report.rows_kept == len(names)
        assert trace.report.rows_read == len(names) + sum(count for count, _ in dropped.values())

    def test_jobs_have_the_recorded_figures(self, name: str) -> None:
        scenario = imported(SAMPLE[name], name, seed=3).scenario
        problem = problem_of(scenario)
        assert not scenario.time.slotted
        for at, (gpus, submit_s, duration_s) in enumerate(FIGURES[name]):
            job, best_s = scenario.jobs[at], problem.best_case[at]
            assert (job.gpus, job.submit_s) == (gpus, submit_s)
            # To the nearest iteration, but at least one.
            tau_s = best_s / job.iterations
            assert abs(best_s - duration_s) <= tau_s / 2 + 1e-9 or job.iterations == 1

    def test_strict_ends_at_the_first_malformed_row(self, name: str, tmp_path: Path) -> None:
        malformed = ("malformed", "wrong", "same", "not a record", "not JSON")
        lines = [first for reason, (_, first) in EXPECTED[name][1].items() if reason.startswith(malformed)]
        with pytest.raises(InputError, match=rf"line {min(lines)}: ") as caught:
            imported(SAMPLE[name], name, strict=True)
        assert caught.value.file == str(SAMPLE[name])
        assert caught.value.field

    def test_gzip_and_other_line_ends_change_nothing(self, name: str, tmp_path: Path) -> None:
        content = SAMPLE[name].read_bytes().replace(b"\r\n", b"\n")
        plain = imported(written(tmp_path, content), name)
        packed = imported(written(tmp_path, gzip.compress(content), "any.name"), name)
        dos = imported(written(tmp_path, content.replace(b"\n", b"\r\n")), name)
        assert plain == packed == dos == imported(SAMPLE[name], name)

    def test_the_same_seed_gives_the_same_scenario(self, name: str) -> None:
        first, again, other = (
            imported(SAMPLE[name], name, seed=seed, unknown_models="draw").scenario for seed in (1, 1, 2)
        )
        assert first == again
        assert first != other

    def test_an_empty_file_is_refused(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="is empty"):
            imported(written(tmp_path, "\n \n"), name)

    def test_half_a_gzip_is_refused(self, name: str, tmp_path: Path) -> None:
        content = gzip.compress(os.urandom(50_000).hex().encode())
        with pytest.raises(InputError, match=r"gzip|not a trace of this format|has no column"):
            imported(written(tmp_path, content[:30_000]), name)


def test_a_trace_of_another_format_is_refused() -> None:
    with pytest.raises(InputError, match=r"'iteration_time' is missing.*not a trace of this format"):
        import_trace(SAMPLE["tiresias"], "muri")
    with pytest.raises(InputError, match="no JSON list"):
        import_trace(SAMPLE["tiresias"], "philly-json")
    with pytest.raises(UnknownName, match="did you mean 'philly'"):
        import_trace(SAMPLE["philly"], "phily")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        import_trace(tmp_path / "none.csv", "philly")
    with pytest.raises(InputError, match="is a directory"):
        import_trace(tmp_path, "philly")


def test_strict_refuses_a_job_larger_than_the_cluster(tmp_path: Path) -> None:
    text = "timestamp,duration,num_gpus\n2017-10-03 12:00:00,600.0,1024\n"
    with pytest.raises(InputError, match="line 2: GPUs = 1024 are more than the 512 of the cluster"):
        import_trace(written(tmp_path, text), "philly", cluster=Cluster.of_servers(64), strict=True)


def test_what_is_no_job_is_not_malformed(tmp_path: Path) -> None:
    text = "timestamp,duration,num_gpus\n2017-10-03 12:00:00,600.0,0\n2017-10-03 12:00:00,None,1\n"
    trace = import_trace(written(tmp_path, text), "philly", strict=True)
    assert trace.report.rows_kept == 0
    assert trace.scenario.jobs == ()
    assert (trace.report.span_s, trace.report.load) == (0.0, 0.0)


def test_models_named_by_the_trace_are_taken() -> None:
    trace = import_trace(SAMPLE["tiresias"], "tiresias", models="lstm-ptb")
    gradient_mb = {job.name: job.gradient_mb for job in trace.scenario.jobs}
    # The catalogue does not know the model of "3", and the trace does not say what it exchanges.
    assert gradient_mb == {"0": 526.4, "1": 99.2, "2": 103.0, "3": 0.0, "4": 251.8}
    assert (trace.report.models_named, trace.report.models_drawn) == (3, 1)
    similar = {model.name: model.taken_for for model in trace.report.models_similar}
    assert similar == {"vgg19": "vgg16", "inception4": "inception-v3"}


class TestUnknownModels:
    @pytest.mark.parametrize(
        ("unknown", "gradient_mb"), [("none", 0.0), ("draw", 251.8), ("vgg16", 526.4), (None, 0.0)]
    )
    def test_choices(self, unknown: str | None, gradient_mb: float) -> None:
        trace = import_trace(SAMPLE["tiresias"], "tiresias", models="lstm-ptb", unknown_models=unknown)
        assert trace.scenario.jobs[1].gradient_mb == gradient_mb
        (model,) = trace.report.models_unknown
        assert (model.jobs, model.taken_for) == (1, unknown or "none")

    def test_the_trace_itself_may_say_what_they_exchange(self) -> None:
        """An iteration of 250 ms of which 66 are the exchange, in the best case of 16 GPUs."""
        trace = import_trace(SAMPLE["muri"], "muri")
        job = next(job for job in trace.scenario.jobs if job.name == "2")
        (model,) = trace.report.models_unknown
        assert (model.name, model.taken_for) == ("a2c", "trace")
        assert job.compute_s == pytest.approx(0.184)
        latency_s = 2 * trace.scenario.contention.server_latency_ms / 1000
        tau_s = problem_of(trace.scenario).best_case[1] / job.iterations
        assert tau_s == pytest.approx(0.250 + latency_s, rel=1e-6)
        silent = import_trace(SAMPLE["muri"], "muri", unknown_models="none").scenario.jobs[1]
        assert (silent.gradient_mb, silent.compute_s) == (0.0, pytest.approx(0.25))

    def test_an_unknown_choice_is_refused(self) -> None:
        with pytest.raises(InputError, match="unknown_models names the unknown model 'vgg' "):
            import_trace(SAMPLE["muri"], "muri", unknown_models="vgg")


def test_drawn_models_follow_the_mix_in_every_class_of_size() -> None:
    rows = [TraceRow(at, float(at), 60.0, gpus, f"j{at}") for at, gpus in enumerate([1] * 400 + [16] * 8)]
    models, num_named = models_of(rows, {"resnet50": 3.0, "vgg16": 1.0}, seed=0)
    assert num_named == 0
    assert Counter(models[:400]) == {"resnet50": 300, "vgg16": 100}
    assert Counter(models[400:]) == {"resnet50": 6, "vgg16": 2}


def test_even_a_lone_job_can_be_any_model() -> None:
    row = TraceRow(1, 0.0, 60.0, 1, "a")
    drawn = Counter(models_of([row], {"resnet50": 3.0, "vgg16": 1.0}, seed)[0][0] for seed in range(200))
    assert 120 < drawn["resnet50"] < 180


class TestCluster:
    def test_the_default_is_64_servers_of_8_below_one_switch_that_does_not_block(self) -> None:
        scenario = import_trace(SAMPLE["itp"], "itp").scenario
        cluster = scenario.cluster
        assert (len(cluster.servers), cluster.capacity, len(cluster.switches)) == (64, 512, 0)
        assert scenario.contention == Contention(model="phases", server_latency_ms=0.2)

    def test_a_trace_that_needs_more_gets_more(self, tmp_path: Path) -> None:
        rows = [f"j{at},{at},100000,8" for at in range(100)]
        text = "\n".join(["job_id,submission_time,duration,num_gpu", *rows, "late,50000,60,1"])
        trace = import_trace(written(tmp_path, text), "itp")
        assert len(trace.scenario.cluster.servers) == 100
        assert "hold all jobs for 99 % of the time" in trace.report.assumed[0]

    def test_recorded_on_one_cluster_and_replayed_on_another(self) -> None:
        fast, slow = (Cluster.of_servers(64, 8, inter_server_gbps=gbps) for gbps in (400.0, 10.0))
        options: dict[str, Any] = {"models": "vgg16"}
        there = import_trace(SAMPLE["itp"], "itp", cluster=fast, **options).scenario
        here = import_trace(SAMPLE["itp"], "itp", cluster=slow, **options).scenario
        moved = import_trace(SAMPLE["itp"], "itp", cluster=slow, recorded_on=fast, **options).scenario
        assert [job.iterations for job in moved.jobs] == [job.iterations for job in there.jobs]
        assert moved.cluster == slow
        assert here.jobs != there.jobs
        only = import_trace(SAMPLE["itp"], "itp", recorded_on=fast, **options).scenario
        assert only == there
        with pytest.raises(InputError, match="recorded_on must be a Cluster or a file"):
            import_trace(SAMPLE["itp"], "itp", recorded_on=7)  # type: ignore[arg-type]

    def test_a_specification_of_tiresias_is_a_cluster(self) -> None:
        trace = import_trace(SAMPLE["tiresias"], "tiresias", cluster=SAMPLES / "tiresias_cluster_spec.csv")
        cluster = trace.scenario.cluster
        assert (len(cluster.servers), cluster.capacity, len(cluster.switches)) == (8, 32, 2)
        assert {switch.uplink_gbps for switch in cluster.switches} == {400.0}  # what four servers can send

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("num_switch,num_node_p_switch\n1,2\n", "num_gpu_p_node is missing"),
            ("num_switch,num_node_p_switch,num_gpu_p_node\n1,x,2\n", "num_node_p_switch must be an integer"),
            ("num_switch,num_node_p_switch,num_gpu_p_node\n1,0,2\n", "must be an integer >= 1"),
            ("num_switch,num_node_p_switch,num_gpu_p_node\n", "must hold one row"),
        ],
    )
    def test_a_wrong_specification_is_refused(self, text: str, said: str, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=said) as caught:
            surroundings_of(written(tmp_path, text, "spec.csv"))
        assert caught.value.file

    def test_a_scenario_lends_cluster_contention_and_time(self) -> None:
        first = ringsched.load_scenario("examples/first.toml")
        scenario = import_trace(SAMPLE["itp"], "itp", cluster="examples/first.toml").scenario
        assert (scenario.cluster, scenario.contention, scenario.time) == (
            first.cluster,
            first.contention,
            first.time,
        )

    def test_time_is_continuous_unless_the_file_says_otherwise(self, tmp_path: Path) -> None:
        text = """
        [cluster]
        inter_server_gbps = 10.0
        intra_server_gbps = 100.0
        reduce_gbps = 100.0
        servers = [{ gpus = 4, count = 4 }]
        """
        around = surroundings_of(written(tmp_path, text, "cluster.toml"))
        assert not around.time.slotted
        assert around.contention.server_latency_ms == 0.2

    def test_a_cluster_can_be_given_as_an_object(self) -> None:
        cluster = ringsched.load_scenario("examples/first.toml").cluster
        assert import_trace(SAMPLE["itp"], "itp", cluster=cluster).scenario.cluster == cluster
        with pytest.raises(InputError, match="must be a Cluster or a file"):
            import_trace(SAMPLE["itp"], "itp", cluster=7)  # type: ignore[arg-type]


class TestJsonStream:
    @staticmethod
    def elements(text: str) -> list[tuple[int, object]]:

        return list(
            JsonStream(StringIO(text), lambda value: isinstance(value, dict) and "id" in value).elements()
        )

    def test_elements_come_with_their_lines(self) -> None:
        assert self.elements('{"id": 1},\n\n{"id":\n2}, 3]') == [(1, {"id": 1}), (3, {"id": 2}), (4, 3)]

    def test_pieces_of_something_broken_do_not_count(self) -> None:
        text = '{"id": 1},\n{"id": [{"a": 1}, {"a": ?}, {"a": 2}]},\n{"id": 3}]'
        assert self.elements(text) == [(1, {"id": 1}), (2, BROKEN), (3, {"id": 3})]

    def test_elements_longer_than_what_is_read_at_once(self) -> None:
        long = "x" * (CHUNK + 10)
        assert self.elements(f'{{"id": "{long}"}}, {{"id": 2}}]') == [(1, {"id": long}), (1, {"id": 2})]

    def test_a_list_that_breaks_off(self) -> None:
        assert self.elements('{"id": 1}, {"id": ') == [(1, {"id": 1}), (1, BROKEN)]


LINES = st.lists(
    st.binary(max_size=80) | st.sampled_from([b'"', b",,", b"{", b'{"jobid":', b"[", b"\xff\xfe"])
)


@pytest.mark.parametrize("name", FORMATS)
@given(lines=LINES)
def test_random_lines_never_crash_an_importer(name: str, lines: list[bytes], tmp_path_factory) -> None:
    """Appended to a good sample they leave its jobs as they are, alone they are refused or dropped."""
    folder = tmp_path_factory.getbasetemp()
    dirt = b"\n".join(lines)
    good = imported(SAMPLE[name], name)
    dirty = imported(written(folder, SAMPLE[name].read_bytes().rstrip(b"]\n ") + b"\n" + dirt), name)
    assert {job.name for job in good.scenario.jobs} <= {job.name for job in dirty.scenario.jobs}
    with contextlib.suppress(InputError):
        alone = imported(written(folder, dirt), name)
        assert alone.report.rows_read == sum(row.count for row in alone.report.dropped)


def traces_folder() -> Path | None:
    """Where the real traces are: they are other people's data, so they are not in the repository."""
    given = os.environ.get("RINGSCHED_TRACES")
    folder = Path(given) if given else Path(__file__).parents[3] / "shared" / "data" / "traces"
    return folder if folder.is_dir() else None


REAL = {
    # format, rows, jobs named by the trace, load
    "philly.csv.gz": ("philly", 82_247, 0, 0.429),
    "muri_trace1.csv.gz": ("muri", 1494, 944, 0.249),
    "tiresias_60_job.csv": ("tiresias", 60, 60, 0.029),
}


@pytest.mark.parametrize("file", REAL)
def test_real_traces(file: str) -> None:
    folder = traces_folder()
    if folder is None or not (folder / file).is_file():
        pytest.skip(f"NO REAL TRACE {file}: set RINGSCHED_TRACES to the folder that has it")
    name, num_rows, num_named, load = REAL[file]
    trace: ImportedTrace = import_trace(folder / file, name, strict=True)
    assert (trace.report.rows_read, trace.report.rows_kept) == (num_rows, num_rows)
    assert trace.report.models_named == num_named
    assert trace.report.load == pytest.approx(load, abs=0.0005)
    submits = [job.submit_s for job in trace.scenario.jobs]
    assert submits == sorted(submits)
    assert submits[0] == 0
