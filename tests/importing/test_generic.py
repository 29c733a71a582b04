"""Tables of any kind: maps, units, zones, conditions, suggestions, and times that cannot be."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringsched import InputError, import_trace
from ringsched.formats.traces.formats import FORMATS
from ringsched.importing import ImportedTrace

SAMPLES = Path(__file__).parents[1] / "traces"
MAP = "submit=submit,duration=duration,gpus=gpus"


def table(folder: Path, text: str, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def imported(folder: Path, text: str, columns: Any = MAP, **options: Any) -> ImportedTrace:
    return import_trace(table(folder, text), "csv", columns=columns, **options)


def durations(trace: ImportedTrace) -> list[float]:
    from ringsched.engine.problem import problem_of

    return [round(seconds, 0) for seconds in problem_of(trace.scenario).best_case]


def submits(trace: ImportedTrace) -> list[float]:
    return [job.submit_s for job in trace.scenario.jobs]


class TestReading:
    @pytest.mark.parametrize("mark", [",", "\t", ";", "|"])
    def test_delimiters(self, mark: str, tmp_path: Path) -> None:
        text = "Submit,DURATION,gpus,x y\n0,3600,8,a\n60,7200,1,b\n".replace(",", mark)
        trace = imported(tmp_path, text, models="resnet18")
        assert [(job.gpus, job.submit_s) for job in trace.scenario.jobs] == [(8, 0.0), (1, 60.0)]

    def test_quoted_cells(self, tmp_path: Path) -> None:
        text = 'submit,duration,gpus,who\n0,3600,8,"a, b"\n60,7200,1,"c"\n'
        assert imported(tmp_path, text).report.rows_kept == 2

    def test_gzip(self, tmp_path: Path) -> None:
        path = tmp_path / "log.gz"
        path.write_bytes(gzip.compress(b"submit,duration,gpus\n0,3600,8\n"))
        assert import_trace(path, "csv", columns=MAP).report.rows_kept == 1

    @pytest.mark.parametrize(
        ("unit", "factor"), [("us", 1e6), ("ms", 1e3), ("s", 1.0), ("min", 1 / 60), ("h", 1 / 3600)]
    )
    def test_units(self, unit: str, factor: float, tmp_path: Path) -> None:
        rows = "".join(f"{at * 3600 * factor!r},{7200 * factor!r},1\n" for at in range(5))
        trace = imported(tmp_path, f"submit,duration,gpus\n{rows}", time_unit=unit, models="resnet50")
        assert submits(trace) == [0.0, 3600.0, 7200.0, 10800.0, 14400.0]
        assert durations(trace) == [7200.0] * 5

    def test_a_unit_for_each_time(self, tmp_path: Path) -> None:
        text = "submit,duration,gpus\n1700000000,90,1\n1700000060,90,1\n"
        trace = imported(tmp_path, text, time_unit="submit=s,duration=min", models="resnet50")
        assert (submits(trace), durations(trace)) == ([0.0, 60.0], [5400.0, 5400.0])

    @pytest.mark.parametrize("column", ["run_min", "Runtime (min)", "elapsed minutes"])
    def test_the_unit_in_the_name_of_a_column_counts(self, column: str, tmp_path: Path) -> None:
        columns = {"submit": "t", "duration": column, "gpus": "g"}
        trace = imported(tmp_path, f"t,{column},g\n0,90,1\n", columns, models="resnet50")
        assert durations(trace) == [5400.0]
        assert trace.report.assumed[0].startswith("duration is in min, by the name of its column")
        explicit = imported(tmp_path, f"t,{column},g\n0,90,1\n", columns, time_unit="s", models="resnet50")
        assert durations(explicit) == [90.0]

    def test_local_times_know_when_clocks_change(self, tmp_path: Path) -> None:
        text = "submit,start,end,gpus\n2024-03-31 01:00,2024-03-31 01:30,2024-03-31 03:30,1\n"
        columns = "submit=submit,start=start,end=end,gpus=gpus"
        assert durations(imported(tmp_path, text, columns, models="resnet50")) == [7200.0]
        berlin = imported(tmp_path, text, columns, models="resnet50", time_zone="Europe/Berlin")
        assert durations(berlin) == [3600.0]

    def test_offsets_in_the_file_win(self, tmp_path: Path) -> None:
        text = "submit,duration,gpus\n2024-03-31T01:00:00Z,60,1\n2024-03-31 03:00:00 +0200,60,1\n"
        assert submits(imported(tmp_path, text, time_zone="Asia/Shanghai")) == [0.0, 0.0]

    def test_durations_as_slurm_writes_them(self, tmp_path: Path) -> None:
        text = "submit,duration,gpus\n0,1-00:00:00,1\n0,01:30:00,1\n0,05:00,1\n"
        assert durations(imported(tmp_path, text, models="resnet50")) == [86400.0, 5400.0, 300.0]

    def test_conditions(self, tmp_path: Path) -> None:
        text = (
            "submit,duration,gpus,state,user\n0,60,1,COMPLETED,a\n1,60,1,FAILED,a\n2,60,1,CANCELLED by 7,b\n"
        )

        def kept(*where: str) -> list[float]:
            return [float(round(at)) for at in submits(imported(tmp_path, text, where=where))]

        assert len(kept("state=completed")) == 1
        assert len(kept("STATE!=failed")) == 2
        assert len(kept("state=COMPLETED", "state=FAILED")) == 2
        assert len(kept("state=CANCELLED*")) == 1
        assert kept("state=COMPLETED", "user=b") == []
        trace = imported(tmp_path, text, where="state=COMPLETED")
        assert {row.reason: row.count for row in trace.report.dropped} == {"not state=COMPLETED": 2}
        mapped = imported(tmp_path, text, f"{MAP},name=submit", where="gpus=1")
        assert mapped.report.rows_kept == 3

    def test_parts_of_a_gpu(self, tmp_path: Path) -> None:
        text = "submit,duration,gpus\n0,60,0.5\n0,60,1.5\n0,60,2\n"
        rounded, dropped = (imported(tmp_path, text, fractional=each) for each in ("round", "drop"))
        assert sorted(job.gpus for job in rounded.scenario.jobs) == [1, 2, 2]
        assert rounded.report.assumed == ("2 of the jobs asked for part of a GPU: rounded up",)
        assert [job.gpus for job in dropped.scenario.jobs] == [2]

    def test_figures_of_the_table(self, tmp_path: Path) -> None:
        text = "submit,duration,gpus,mb,ms\n0,3600,8,340,250\n0,3600,8,,\n"
        columns = f"{MAP},gradient_mb=mb,iteration_ms=ms"
        trace = imported(tmp_path, text, columns, models="vgg16")
        assert trace.scenario.jobs[0].gradient_mb == 340.0
        assert trace.scenario.jobs[0].compute_s == pytest.approx(0.25)
        assert trace.scenario.jobs[1].gradient_mb == 526.4

    def test_other_formats_take_units_and_conditions(self) -> None:
        trace = import_trace(SAMPLES / "chronus.csv", "tiresias", time_unit="min", where="user=u1")
        assert (trace.report.rows_kept, durations(trace)) == (1, [7200.0])
        acme = import_trace(SAMPLES / "acme.csv", "acme", where="State!=FAILED")
        assert "5001" not in [job.name for job in acme.scenario.jobs]


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"columns": "submit=submit"}, "needs gpus and duration .or start and end. in --map"),
            ({"columns": "submit"}, "map must be written as submit=COLUMN,duration=COLUMN,gpus=COLUMN"),
            ({"columns": "submit=a,submit=b"}, "map names submit twice"),
            ({"columns": "submitted=a"}, "map names the unknown field 'submitted' .did you mean 'submit'"),
            ({"columns": f"{MAP},name=job"}, "has no column 'job', which --map names for name; choose from"),
            ({"columns": "submit=submit,duration=durations,gpus=gpus"}, "did you mean 'duration'"),
            ({"time_unit": "msec"}, "time_unit names the unknown unit 'msec' .did you mean 'ms'"),
            ({"time_unit": "wait=s"}, "time_unit names the unknown time 'wait'"),
            ({"time_zone": "Berlin"}, "time_zone must be a time zone such as Europe/Berlin"),
            ({"where": "stat=x"}, "where names the column 'stat', which the file does not have"),
            ({"where": "state"}, "where must be written as COLUMN=VALUE"),
            ({"fractional": "keep"}, "fractional must be 'round' or 'drop', not 'keep'"),
            ({"processors_per_gpu": 2}, "processors_per_gpu is only allowed with swf, not csv"),
        ],
    )
    def test_one_sentence(self, options: dict[str, Any], said: str, tmp_path: Path) -> None:
        text = "submit,duration,gpus,state\n0,60,1,x\n"
        with pytest.raises(InputError, match=said):
            imported(tmp_path, text, **({"columns": MAP} | options))

    @pytest.mark.parametrize("name", [name for name in FORMATS if name != "csv"])
    def test_every_sample_is_known_for_what_it_is(self, name: str) -> None:
        files = {
            "philly-json": "philly.json",
            "sacct": "sacct.txt",
            "jobcomp": "jobcomp.txt",
            "swf": "swf.swf",
        }
        path = SAMPLES / files.get(name, f"{name}.csv")
        other = "philly" if name != "philly" else "itp"
        for wrong in ("csv", other):
            with pytest.raises(InputError, match=f"this looks like {name}: ringsched import {name} "):
                import_trace(path, wrong)

    def test_a_header_that_no_format_fits_gets_a_map(self, tmp_path: Path) -> None:
        path = table(tmp_path, "uid,Queued At,run_ms,n_gpu,net\n1,0,60,1,vgg16\n")
        expected = (
            "try: ringsched import csv .* --map 'submit=Queued At,gpus=n_gpu,duration=run_ms,model=net'"
        )
        for name in ("csv", "helios", "sacct"):
            with pytest.raises(InputError, match=expected):
                import_trace(path, name)
        trace = import_trace(path, "csv", columns="submit=Queued At,gpus=n_gpu,duration=run_ms,model=net")
        assert trace.report.models_named == 1

    def test_nothing_is_suggested_for_something_else(self, tmp_path: Path) -> None:
        with pytest.raises(InputError) as caught:
            import_trace(table(tmp_path, "a,b\n1,2\n"), "csv")
        assert "try:" not in str(caught.value)
        assert "at least submit, gpus, and duration or start and end" in str(caught.value)


class TestImplausibleTimes:
    @staticmethod
    def text(submit: float, duration: float, number: int = 20) -> str:
        rows = "".join(f"{at * submit!r},{duration!r},1\n" for at in range(number))
        return f"submit,duration,gpus\n{rows}"

    def test_milliseconds_are_not_seconds(self, tmp_path: Path) -> None:
        text = self.text(60_000, 3_600_000.0)
        with pytest.raises(InputError, match=r"run for 41 days 16 h in the median .* --time-unit"):
            imported(tmp_path, text)
        assert imported(tmp_path, text, time_unit="ms").report.span_s == 1140.0
        # Who says that they are seconds is believed.
        assert imported(tmp_path, text, time_unit="s").report.rows_kept == 20

    def test_jobs_of_thirty_years(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"line 2: job 'job-2' would run for 30 years.*--time-unit"):
            imported(tmp_path, self.text(60, 946_728_000.0), time_unit="s")

    def test_a_few_such_rows_are_dirt(self, tmp_path: Path) -> None:
        text = self.text(60, 600.0, 200) + "0,946728000,1\n"
        trace = imported(tmp_path, text)
        assert {row.reason: row.first_line for row in trace.report.dropped} == {"implausible duration": 202}
        with pytest.raises(InputError, match="line 202: the duration of 30 years is implausible"):
            imported(tmp_path, text, strict=True)

    def test_unix_milliseconds(self, tmp_path: Path) -> None:
        text = "submit,duration,gpus\n1700000000000,60,1\n1700000060000,60,1\n"
        with pytest.raises(InputError, match=r"line 2: submit time 1.7e\+12 is in the year 558.*--time-unit"):
            imported(tmp_path, text)
        assert submits(imported(tmp_path, text, time_unit="submit=ms,duration=s")) == [0.0, 60.0]

    def test_a_row_from_1970(self, tmp_path: Path) -> None:
        days = "".join(f"2024-01-{day:02d} 00:00:00,600,1\n" for day in range(1, 29)) * 5
        text = f"submit,duration,gpus\n{days}1970-01-01 00:00:00,600,1\n"
        trace = imported(tmp_path, text)
        assert trace.report.rows_kept == 140
        assert trace.report.dropped[0].reason == "implausible submit time"

    def test_spans_of_centuries(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="has submit times over 60 years"):
            imported(tmp_path, self.text(1e8, 600.0), time_unit="s")

    def test_minutes_by_starts_and_ends(self, tmp_path: Path) -> None:
        rows = "".join(f"2024-01-0{day} 00:00,2024-01-0{day} 02:00,120,1\n" for day in range(1, 6))
        text = f"start,end,duration,gpus\n{rows}"
        columns = "submit=start,start=start,end=end,duration=duration,gpus=gpus"
        with pytest.raises(InputError, match=r"column 'duration' is in min.*--time-unit duration=min"):
            imported(tmp_path, text, columns)
        assert (
            durations(imported(tmp_path, text, columns, time_unit="min", models="resnet50")) == [7200.0] * 5
        )

    def test_very_short_jobs_get_a_hint(self, tmp_path: Path) -> None:
        trace = imported(tmp_path, self.text(1, 30.0))
        assert trace.report.assumed[-1].endswith("if that is minutes, use --time-unit min")


class TestOverload:
    def test_a_load_above_1_is_said(self, tmp_path: Path) -> None:
        rows = "".join(f"{at * 60},3600,512\n" for at in range(1000))
        report = imported(tmp_path, f"submit,duration,gpus\n{rows}", cluster="examples/first.toml").report
        assert report.rows_kept == 0
        from ringsched import Cluster

        full = imported(tmp_path, f"submit,duration,gpus\n{rows}", cluster=Cluster.of_servers(64)).report
        assert full.warning is not None
        assert full.warning.startswith(
            "the load is 60.06 even without contention, so the queue only grows; use"
        )

    def test_the_busiest_week_counts(self, tmp_path: Path) -> None:
        from ringsched import Cluster

        quiet = "".join(f"{week * 604800},3600,1\n" for week in range(20))
        busy = "".join(f"{10 * 604800 + at * 600},3600,100\n" for at in range(1000))
        text = f"submit,duration,gpus\n{quiet}{busy}"
        report = imported(tmp_path, text, cluster=Cluster.of_servers(32)).report
        assert report.load < 0.2
        assert report.busiest_load > 1
        assert report.warning is not None
        assert "in the busiest week even without contention" in report.warning

    def test_a_batch_has_no_load(self, tmp_path: Path) -> None:
        report = imported(tmp_path, "submit,duration,gpus\n0,36000,512\n60,36000,512\n").report
        assert report.load > 1
        assert report.warning is None


EXPECTED = [(0.0, 4, 600.0), (60.0, 8, 1200.0), (120.0, 1, 60.0)]
CELLS = "submit,run,gpus\n100,600,4\n160,1200,8\n220,60,1\n"
TIMED = "submit=submit,duration=run,gpus=gpus"


def jobs_of(trace: ImportedTrace) -> list[tuple[float, int, float]]:
    """Return submit, GPUs and duration of each job, to the second."""
    submitted = zip(submits(trace), durations(trace), strict=True)
    return [
        (submit, job.gpus, round(duration_s))
        for job, (submit, duration_s) in zip(trace.scenario.jobs, submitted, strict=True)
    ]


class TestDirt:
    """Tables as people have them. Each holds the jobs of EXPECTED."""

    @pytest.mark.parametrize(
        ("text", "columns"),
        [
            (CELLS.replace(",", "\t"), TIMED),
            (CELLS.replace(",", " | "), TIMED),
            (CELLS.replace(",", "   "), TIMED),
            ("submit;run;gpus\n100,5;600,0;4\n160,5;1200;8\n220,5;60;1\n", TIMED),
            ('submit,run,gpus\n100,600,4\n160,"1,200",8\n220,60,1\n', TIMED),
            (f"# exported by a tool, in 2024\n# twice\n{CELLS}", TIMED),
            (f"#{CELLS}", TIMED),
            ("sep=;\n" + CELLS.replace(",", ";"), TIMED),
            ("t,d,# GPUs\n100,600,4\n160,1200,8\n220,60,1\n", "submit=t,duration=d,gpus=# GPUs"),
            ("# GPUs,t,d\n4,100,600\n8,160,1200\n1,220,60\n", "submit=t,duration=d,gpus=# GPUs"),
            ("submit,run,gpus\n100,10m0s,4\n160,20 min,8\n220,60s,1\n", TIMED),
            ("submit,run,gpus\n0:01:40,0-00:10:00,4\n00:02:40,00:20:00,8\n03:40,1:00,1\n", TIMED),
            ("submit,run,gpus\n100,600,gres/gpu=4\n160,1200,gpu:a100:8\n220,60,gpu:1\n", TIMED),
            ("submit,run,gpus\n-,600,4\n100,600,4\n160,1200,8\n1,--,2\n220,60,1\n9,9,(null)\n", TIMED),
            ("t,d,g\n17e17,6e11,4\n1700000060000000000,12e11,8\n1700000120000000000,6e10,1\n", "NS"),
            ("tMs,dMin,g\n1700000000000,10,4\n1700000060000,20,8\n1700000120000,1,1\n", "CAMEL"),
            (
                "submit,run,gpus\n31.03.2024 18:00:00,600,4\n31.03.2024 18:01,1200,8\n"
                "31.03.2024 18:02,60,1\n",
                TIMED,
            ),
            (
                "submit,run,gpus\nSun Mar 31 18:00:00 2024,600,4\n2024-03-31 06:01:00 PM,1200,8\n"
                "Sun 31 Mar 2024 18:02:00 GMT,60,1\n".replace("Sun 31", '"Sun, 31').replace("GMT", 'GMT"'),
                TIMED,
            ),
        ],
    )
    def test_it_is_read(self, text: str, columns: str, tmp_path: Path) -> None:
        named = {"NS": "submit=t,duration=d,gpus=g", "CAMEL": "submit=tMs,duration=dMin,gpus=g"}
        unit = {"time_unit": "ns"} if columns == "NS" else {}
        trace = imported(tmp_path, text, named.get(columns, columns), **unit)
        assert jobs_of(trace) == EXPECTED

    @pytest.mark.parametrize("pack", [bz2.compress, lzma.compress, gzip.compress])
    def test_packed(self, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
        path = tmp_path / "jobs.packed"
        path.write_bytes(pack(CELLS.encode()))
        assert jobs_of(import_trace(path, "csv", columns=TIMED)) == EXPECTED
        path.write_bytes(pack(CELLS.encode())[:-9])
        with pytest.raises(InputError, match="is not whole"):
            import_trace(path, "csv", columns=TIMED)

    def test_two_bytes_a_character(self, tmp_path: Path) -> None:
        path = tmp_path / "jobs.txt"
        path.write_bytes(CELLS.replace("\n", "\r\n").encode("utf-16"))
        assert jobs_of(import_trace(path, "csv", columns=TIMED)) == EXPECTED

    def test_names_that_are_no_ids(self, tmp_path: Path) -> None:
        text = "name,submit,run,gpus\ntrain,100,600,4\ntrain,160,1200,8\ntrain,220,60,1\n"
        trace = imported(tmp_path, text, f"{TIMED},name=name")
        assert [job.name for job in trace.scenario.jobs] == ["train", "train (3)", "train (4)"]
        assert "2 of the jobs have the name of an earlier one: their line was added" in trace.report.assumed

    def test_places_in_other_signs(self, tmp_path: Path) -> None:
        places = ['"n1:4,n2:4"', "n[1-2]:4", "n1(x4)+n2(x4)", "\"['n1', 'n2']\"", '"n1, n2"', "n1 n2"]
        rows = "".join(f"{at}000,{at}000,{at}500,8,{place}\n" for at, place in enumerate(places, 1))
        columns = "submit=s,start=t,end=e,gpus=g,placement=w"
        trace = imported(tmp_path, f"s,t,e,g,w\n{rows}", columns, as_plan=True)
        assert trace.plan is not None
        half = (0, 1, 2, 3)
        assert [dict(job.gpus) for job in trace.plan.jobs] == [{"n1": half, "n2": half}] * len(places)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"100,600,4\n160,1200,8\n", "line 1: is numbers, not a header: add a line with the names"),
            (b"PK\x03\x04" + bytes(60), "is a zip archive: unpack or convert it"),
            (bytes(range(40)) * 9, "is not text: convert it to a table such as CSV"),
            (b'{"submit": 1}\n', "line 1: is JSON, not a table"),
            (
                b"submit,run,gpus\n3/10/2024 18:00,60,1\nx,60,1\n",
                r"line 2: submit must be a date and time such as 2024-03-31 18:00:00, not '3/10/2024 18:00'; "
                "no row of the file is a job",
            ),
            (
                b"When,run,gpus\n1,60,1\n",
                "line 1: has no column 'submit', which --map names for submit; choose from When, run, gpus; "
                "try: ringsched import csv .* --map submit=COLUMN,gpus=gpus,duration=run",
            ),
            (
                b"submit,run,gpus\n17e14,60,1\n",
                "line 2: submit time 1.7e\\+15 is in the year .*; use --time-unit, such as --time-unit us",
            ),
        ],
    )
    def test_it_is_refused_in_one_sentence(self, content: bytes, said: str, tmp_path: Path) -> None:
        path = tmp_path / "jobs.csv"
        path.write_bytes(content)
        with pytest.raises(InputError, match=said) as caught:
            import_trace(path, "csv", columns=TIMED)
        assert "\n" not in str(caught.value)
