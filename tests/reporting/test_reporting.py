"""What the report's pictures are drawn from, and the files that hold it."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import examples
from tests.reports import HOSTILE_NAMES, contended, empty, first, hostile, invalid
from tests.scenarios import cluster, job, scenario
from tests.strategies import scenarios

import ringsched
from ringsched import Infeasible, InputError, Scenario, Server, Switch
from ringsched.analysis.explain.parts import Split
from ringsched.analysis.planned_run import planned_run
from ringsched.drawing import gantt_legend, luminance, size_class, size_scale
from ringsched.engine.problem import problem_of
from ringsched.reporting import assets
from ringsched.reporting.data import finished_at, report_data, soonest_ends
from ringsched.reporting.gantt import stretches_of
from ringsched.reporting.links import job_levels, level_at, load_levels
from ringsched.reporting.perfetto import perfetto_trace
from ringsched.reporting.pictures.draw import draw_pictures

MEGABYTE = 1_000_000
REPORT_ASSETS = Path(assets.__file__).parent


def drawn(problem: Scenario, policy: str = "list-scheduling") -> dict[str, Any]:
    return report_data(problem, {policy: ringsched.plan(problem, policy)})


def triples(flat: list[float]) -> list[tuple[float, float, float]]:
    return list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))


def test_the_rows_of_a_job_are_its_gpus() -> None:
    problem = contended()
    plan = ringsched.plan(problem, "list-scheduling")
    data = report_data(problem, {"plan": plan})
    at_row = [
        (server["name"], gpu)
        for server in sorted(data["cluster"]["servers"], key=lambda server: server["row"])
        for gpu in range(server["gpus"])
    ]
    gantt = data["plans"][0]["gantt"]
    for planned, job_at, runs in zip(plan.jobs, gantt["job"], gantt["runs"], strict=True):
        held = {
            at_row[row]
            for start, count in zip(runs[::2], runs[1::2], strict=True)
            for row in range(start, start + count)
        }
        assert held == {(server, gpu) for server, gpus in planned.gpus.items() for gpu in gpus}
        assert data["jobs"]["name"][job_at] == planned.name


def test_servers_of_a_rack_stand_together() -> None:
    servers = [{"name": f"s{at}", "gpus": 2} | ({"rack": "r"} if at % 2 else {}) for at in range(4)]
    content = {
        "cluster": {
            "servers": servers,
            "racks": {"r": {"uplink_gbps": 5.0}},
            "inter_server_gbps": 10.0,
            "intra_server_gbps": 20.0,
            "reduce_gbps": 40.0,
        }
    }
    data = drawn(ringsched.scenario_from_dict(content))
    assert [server["name"] for server in data["cluster"]["servers"]] == ["s1", "s3", "s0", "s2"]
    assert data["cluster"]["switches"] == [{"name": "r", "label": "rack r", "row": 0, "rows": 4, "level": 0}]


def test_everything_below_a_switch_stands_together() -> None:
    switches = [
        Switch(name="top"),
        Switch(name="pod", uplink_gbps=2, parent="top"),
        *(
            Switch(name=f"r{at}", uplink_gbps=4, parent=above)
            for at, above in enumerate(["pod", "top", "pod"])
        ),
    ]
    above = ["r0", "r1", "r2", "pod", "top", "r0"]
    servers = tuple(Server(name=f"s{at}", gpus=2, switch=name) for at, name in enumerate(above))
    data = drawn(scenario(cluster(servers=servers, switches=switches), job("all", 12, gradient_mb=10)))
    # The switches of a switch come before its own servers, and lower ones before higher ones.
    assert [server["name"] for server in data["cluster"]["servers"]] == ["s1", "s0", "s5", "s2", "s3", "s4"]
    spans = {
        each["label"]: (each["row"], each["rows"], each["level"]) for each in data["cluster"]["switches"]
    }
    assert spans == {
        "switch r1": (0, 2, 0),
        "switch r0": (2, 4, 0),
        "switch r2": (6, 2, 0),
        "switch pod": (2, 8, 1),
        "switch top": (0, 12, 2),
    }
    below = {link["name"]: (link["row"], link["rows"]) for link in data["plans"][0]["links"]}
    assert below["switch pod"] == (2, 8)
    assert "switch top" not in below  # it has no uplink


def test_slowed_stretches_lie_within_the_run_and_add_up() -> None:
    problem = contended()
    plan = ringsched.plan(problem, "list-scheduling")
    gantt = report_data(problem, {"plan": plan})["plans"][0]["gantt"]
    parts = stretches_of(Split(problem_of(problem), planned_run(problem_of(problem), plan)))
    found = 0
    for at, account in enumerate(ringsched.explain(problem, plan).jobs):
        lengths_s = np.diff(parts[at].instants_s) if len(parts[at].factors) else np.zeros(0)
        lost_s = float((lengths_s * (1 - 1 / parts[at].factors)).sum())
        assert lost_s == pytest.approx(account.contention_s, rel=1e-5, abs=1e-5)
        for since, until, factor in triples(gantt["slow"][at]):
            assert gantt["start"][at] <= since < until <= gantt["finish"][at]
            assert factor > 1
            found += 1
        assert bool(gantt["slow"][at]) == (account.contention_s > 0)
    assert found > 0


def test_links_are_those_of_the_ledger_and_never_overfull() -> None:
    problem = contended()
    plan = ringsched.plan(problem, "list-scheduling")
    charts = {link["name"]: link for link in report_data(problem, {"plan": plan})["plans"][0]["links"]}
    ledger = ringsched.explain(problem, plan)
    assert set(charts) == {account.label for account in ledger.links if account.jobs}
    for account in ledger.links:
        if account.jobs:
            steps = triples(charts[account.label]["steps"])
            assert max(jobs for _, jobs, _ in steps) == account.most_jobs
            assert all(0 <= percent <= 100 for _, _, percent in steps)
            assert any(percent > 0 for _, _, percent in steps)
            assert steps[-1][1:] == (0, 0)


def test_a_lone_job_uses_the_link_as_its_iterations_say() -> None:
    """Two GPUs on two servers exchange 2 m (w-1)/w = 100 MB = 0.8 Gbit in 0.08 s, then compute 0.1 s."""
    problem = scenario(
        cluster(1, 1), job("pair", gpus=2, gradient_mb=100, iterations=100), time={"model": "continuous"}
    )
    data = drawn(problem, "first-fit")
    tau_s = 0.8 / 10 + 0.4 / 400 + 0.1
    assert data["plans"][0]["links"][0]["steps"][:3] == [0, 1, round(100 * (0.8 / tau_s) / 10)]
    assert data["plans"][0]["gantt"]["slow"] == [[]]


@examples(60)
@given(scenarios(), st.sampled_from(["list-scheduling", "longest-first", "random"]))
def test_no_plan_gets_beyond_the_bound_of_the_curves(problem: Scenario, policy: str) -> None:
    try:
        plan = ringsched.plan(problem, policy)
    except Infeasible:
        return
    bound = plan.lower_bound_s
    ready = problem_of(problem)
    for at_best, end in zip(soonest_ends(ready, bound), finished_at(plan), strict=True):
        assert at_best <= (end - ready.origin_s) * (1 + 1e-9) + 1e-9
    json.dumps(report_data(problem, {"plan": plan}), allow_nan=False)


def test_times_in_unix_seconds_count_from_the_first() -> None:
    jobs = [job(f"job-{at}", submit_s=1.7e9 + at, iterations=30) for at in range(3)]
    data = drawn(scenario(cluster(2), *jobs))
    assert data["origin"] == 1.7e9
    assert data["jobs"]["submit"] == [0, 1, 2]
    assert max(data["plans"][0]["gantt"]["finish"]) == data["span"] < 20


def test_sizes_are_told_apart() -> None:
    scale = size_scale([1, 2, 3, 4, 8, 16, 32])
    assert [each["name"] for each in scale] == ["1", "2", "3–4", "8", "16", "32"]
    assert [each["class"] for each in scale] == [size_class(gpus) for gpus in (1, 2, 4, 8, 16, 32)]
    for theme, sign in (("light", -1), ("dark", 1)):
        greys = [_lightness(each[theme]) for each in scale]
        assert all(sign * (after - before) > 8 for before, after in pairwise(greys))


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 6, 7, 11, 40])
def test_levels_of_links_cover_all_and_are_told_apart(most: int) -> None:
    levels = job_levels(most)
    assert [level_at(levels, jobs)["most"] >= jobs for jobs in range(1, most + 1)] == [True] * most
    assert levels[-1]["most"] == most
    for theme, sign in (("light", -1), ("dark", 1)):
        greys = [_lightness(level[theme]) for level in levels[1:]]
        assert all(sign * (after - before) > 8 for before, after in pairwise(greys))
    assert level_at(load_levels(), 100)


def _lightness(colour: str) -> float:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue


@pytest.mark.compiled
def test_the_papers_workload_is_a_small_file() -> None:
    problem = ringsched.generate(ringsched.Workload.paper())
    assert len(problem.jobs) == 160
    plans = [ringsched.plan(problem, policy) for policy in ("list-scheduling", "sjf-bco", "longest-first")]
    assert len(ringsched.report(problem, plans).encode()) < 3 * MEGABYTE


def test_a_page_is_the_same_every_time_and_holds_no_name_as_markup() -> None:
    problem = hostile()
    plans = {name: ringsched.plan(problem, "list-scheduling") for name in HOSTILE_NAMES}
    page = ringsched.report(problem, plans)
    assert page == ringsched.report(problem, plans)
    assert page.count("<script") == 2  # data and program
    assert page.count("</script") == 2
    assert "<img" not in page
    data = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["jobs"]["name"] == list(HOSTILE_NAMES)


def test_a_page_asks_for_nothing() -> None:
    page = ringsched.report(first(), ringsched.plan(first(), "first-fit"))
    assert "default-src 'none'" in page
    program = assets.script("report.js") + assets.style()
    for word in (
        "eval(",
        "new Function",
        "innerHTML",
        "fetch(",
        "XMLHttpRequest",
        "import(",
        "@import",
        "http:",
    ):
        assert word not in program.replace("http://www.w3.org/2000/svg", "")


def test_all_modules_are_part_of_the_script() -> None:
    folder = Path(assets.__file__).parent
    assert set(assets.in_order("report.js")) == {path.name for path in folder.glob("*.js")}
    assert not re.search(r"^(import|export)\b", assets.script("report.js"), re.MULTILINE)


def test_an_invalid_plan_is_shown_as_it_is() -> None:
    problem = first()
    broken = invalid(ringsched.plan(problem, "first-fit"))
    plan = report_data(problem, {"broken": broken})["plans"][0]
    assert not plan["summary"]["valid"]
    assert any("nowhere" in each for each in plan["summary"]["violations"])
    assert (plan["links"], plan["blame"], plan["losses"]) == (None, None, None)
    assert plan["gantt"]["runs"][1] == []
    assert "Content-Security-Policy" in ringsched.report(problem, broken)


def test_a_plan_with_jobs_of_its_own_or_none_is_shown() -> None:
    problem = first()
    plan = ringsched.plan(problem, "first-fit")
    strange = plan.replace(jobs=(plan.jobs[0].replace(name="stranger"), *plan.jobs[2:]))
    assert len(report_data(problem, {"plan": strange})["plans"][0]["gantt"]["job"]) == len(problem.jobs) - 2
    assert report_data(problem, {"plan": plan.replace(jobs=())})["plans"][0]["gantt"]["job"] == []


def test_a_plan_of_another_scenario_is_refused() -> None:
    with pytest.raises(InputError, match="plan 'first-fit': was made for another scenario"):
        ringsched.report(empty(), ringsched.plan(first(), "first-fit"))


def test_plans_get_labels_of_their_own() -> None:
    plan = ringsched.plan(empty())
    data = json.loads(
        ringsched.report(empty(), [plan, plan]).split('id="report-data">')[1].split("</script>")[0]
    )
    assert [each["label"] for each in data["plans"]] == ["search", "search (2)"]


def test_blame_names_the_worst_and_counts_all() -> None:
    problem = contended()
    plan = ringsched.plan(problem, "list-scheduling")
    blame = report_data(problem, {"plan": plan})["plans"][0]["blame"]
    ledger = ringsched.explain(problem, plan)
    assert blame["total"] == pytest.approx(sum(ledger.by_victim().values()), rel=1e-4)
    assert problem.jobs[blame["victims"][0]].name == next(iter(ledger.by_victim()))
    assert problem.jobs[blame["culprits"][0]].name == next(iter(ledger.by_culprit()))
    for row, lost in zip(blame["seconds"], blame["lost"], strict=True):
        assert sum(row) <= lost * (1 + 1e-4) + 1e-3


def test_perfetto_slices_nest_and_counters_end_at_none() -> None:
    problem = contended()
    plans = {name: ringsched.plan(problem, name) for name in ("list-scheduling", "random")}
    events = json.loads(perfetto_trace(problem, plans))["traceEvents"]
    tracks: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in events:
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append(
                (event["ts"], event["ts"] + event["dur"])
            )
    held = sum(job.gpus for job in problem.jobs)
    assert sum("args" in event for event in events if event["ph"] == "X") == 2 * held
    for slices in tracks.values():
        assert slices == sorted(slices, key=lambda each: (each[0], -each[1]))
        open_until: list[int] = []
        for begin, end in slices:
            while open_until and open_until[-1] <= begin:
                open_until.pop()
            assert not open_until or end <= open_until[-1]
            open_until.append(end)
    last = {(event["pid"], event["name"]): event["args"]["jobs"] for event in events if event["ph"] == "C"}
    assert set(last.values()) == {0}
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert {"list-scheduling: left-0", "random: links"} <= names


@pytest.mark.parametrize("num_sizes", range(1, 9))
def test_names_of_jobs_are_read_on_every_colour(num_sizes: int) -> None:
    """White on #27ac81 had a contrast of 2.88; WCAG asks for 4.5."""
    for size in size_scale([2**at for at in range(num_sizes)]):
        for page in ("Light", "Dark"):
            low, high = sorted(luminance(each) for each in (size[page.lower()], size[f"ink{page}"]))
            assert (high + 0.05) / (low + 0.05) > 4.5


def test_pictures_and_page_have_the_same_words() -> None:
    legend = (REPORT_ASSETS / "legends.js").read_text(encoding="utf-8")
    for handle in gantt_legend([], slowed=True, bound=True):
        assert f'"{handle.get_label()}"' in legend


def test_perfetto_takes_no_gpu_for_a_main_thread() -> None:
    """Perfetto moves a thread with the number of a process to the top: GPU 1 once was above GPU 0."""
    problem = contended()
    plans = {name: ringsched.plan(problem, name) for name in ("list-scheduling", "random")}
    events = json.loads(perfetto_trace(problem, plans))["traceEvents"]
    threads = [(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"]
    assert not {event["pid"] for event in events} & {thread for _, thread in threads}
    assert threads == sorted(set(threads))
    assert len({thread for _, thread in threads}) == 2 * sum(
        server.gpus for server in problem.cluster.servers
    )


@pytest.mark.parametrize("format", ["svg", "png"])
def test_pictures_are_the_same_every_time(tmp_path: Path, format: str) -> None:
    problem = hostile()
    plans = {name: ringsched.plan(problem, "list-scheduling") for name in ("../up", "a/b", HOSTILE_NAMES[0])}
    names = draw_pictures(problem, plans, tmp_path / "one", format)
    assert names == draw_pictures(problem, plans, tmp_path / "two", format)
    assert len(names) == len(set(names)) == 1 + 3 * len(plans)
    assert sorted(names) == sorted(path.name for path in (tmp_path / "one").iterdir())
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_pictures_of_nothing(tmp_path: Path) -> None:
    assert draw_pictures(empty(), ringsched.plan(empty()), tmp_path) == ["completions.svg"]
    with pytest.raises(InputError, match="format must be 'svg' or 'png'"):
        draw_pictures(empty(), ringsched.plan(empty()), tmp_path, "gif")


def test_lines_between_rows_do_not_hide_jobs() -> None:
    """White lines of a fixed width left nothing to be seen of 2,000 GPUs."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from ringsched.reporting.pictures import gantt

    cluster = ringsched.Cluster.of_servers(250)
    problem = ringsched.generate(ringsched.Workload.uniform(jobs=400, sizes="8", cluster=cluster))
    data = drawn(problem)
    canvas = FigureCanvasAgg(gantt.gantt_picture(data, data["plans"][0]))
    canvas.draw()
    colours = np.asarray(canvas.buffer_rgba())[..., :3].astype(int)
    coloured = float((np.ptp(colours, axis=-1) > 40).mean())
    used = ringsched.metrics_of(problem, ringsched.plan(problem, "list-scheduling")).gpu_utilisation
    assert coloured > 0.6 * used


def test_axes_and_legends_of_pictures_say_jobs() -> None:
    from ringsched.reporting.pictures import charts

    one = scenario(cluster(1), job("only"))
    figure = charts.draw_curves(drawn(one))
    figure.canvas.draw()
    assert all(float(at).is_integer() for at in figure.axes[0].get_yticks())
    data = drawn(contended())
    assert charts.draw_links(data, data["plans"][0]).legends[0].get_title().get_text() == "jobs on the link"


def test_nobody_is_praised_for_busy_gpus() -> None:
    """A plan whose jobs slow each other keeps the GPUs busier, and is worse."""
    figures = {each["name"]: each for each in drawn(contended())["plans"][0]["summary"]["figures"]}
    assert figures["GPU utilisation"]["better"] is None
    assert figures["makespan"]["better"] == "low"


def test_links_are_in_the_order_of_their_levels() -> None:
    """The page puts a heading above each level."""
    deep = ringsched.Cluster.of_levels((2, 2, 2), 2, inter_server_gbps=10)
    problem = scenario(deep, job("a", 10, gradient_mb=1), job("b", 6, gradient_mb=1))
    data = drawn(problem)
    assert data["cluster"]["linkLevels"] == [
        "servers", "level-1 switches", "level-2 switches", "level-3 switches",
    ]  # fmt: skip
    links = data["plans"][0]["links"]
    levels = [link["level"] for link in links]
    assert levels == sorted(levels)
    assert {(link["level"], link["name"].rstrip("0123456789")) for link in links} == {
        (0, "s"), (1, "switch leaf-"), (2, "switch spine-"),
    }  # fmt: skip
