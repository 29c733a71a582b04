"""Results that show themselves: in a line, as HTML, as data frames, as pictures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched.analysis.compare.compare import Comparison
from ringsched.analysis.whatif.changes import AddServers
from ringsched.analysis.whatif.variants import WhatIf
from ringsched.errors import InputError
from ringsched.formatting import LONGEST_LINE, duration, html_table, one_line
from ringsched.ring import all_reduce

QUEUE = scenario(
    cluster(4, 4),
    *(job(f"j{at}", gpus=1 + at % 4, iterations=100 + at, submit_s=5.0 * at) for at in range(30)),
)
UNIX = scenario(cluster(2), job("a", gpus=2, submit_s=1.7e9), job("b", gpus=1, submit_s=1.7e9 + 1))


@pytest.fixture(autouse=True)
def _off_screen() -> Iterator[None]:
    from matplotlib import pyplot

    mpl.use("agg")
    yield
    pyplot.close("all")


def plan() -> ringsched.Plan:
    return ringsched.plan(QUEUE, "first-fit")


def simulation() -> ringsched.Simulation:
    return ringsched.simulate(QUEUE, backfill="easy")


def comparison(**options: Any) -> Comparison:
    workload = ringsched.Workload.uniform(jobs=6, cluster=ringsched.Cluster.of_servers(2))
    scenarios = [ringsched.generate(workload, seed=seed) for seed in range(3)]
    return ringsched.compare(scenarios, ["first-fit", "longest-first", "random"], workers=1, **options)


RESULTS = [plan, simulation, comparison]


def whatif() -> WhatIf:
    return ringsched.whatif(QUEUE, AddServers(count=1, gpus=4))


OTHERS: list[Callable[[], Any]] = [
    lambda: QUEUE,
    lambda: QUEUE.cluster,
    lambda: simulation().series,
    lambda: ringsched.explain(QUEUE, plan()),
    lambda: ringsched.explain(QUEUE, plan()).links[0],
    whatif,
    lambda: whatif().variants[0],
    lambda: ringsched.whatif_job(QUEUE, job("new", gpus=8)),
    lambda: ringsched.replay(QUEUE, plan()),
    lambda: all_reduce([[1.0] * 50] * 3),
    lambda: comparison().models,
]


@pytest.mark.parametrize("made", [*RESULTS, *OTHERS])
def test_one_line(made: Callable[[], Any]) -> None:
    shown = repr(made())
    assert len(shown) <= LONGEST_LINE
    assert "\n" not in shown


def test_what_the_line_says() -> None:
    made = plan()
    assert repr(made) == (
        f"<Plan: 30 jobs, policy first-fit, makespan {duration(made.makespan_s)}, "
        f"bound {duration(made.lower_bound_s)}, gap {100 * (made.gap - 1):.1f} %>"
    )
    assert repr(QUEUE) == "<Scenario: 30 jobs, 2 servers, 8 GPUs, contention paper, slotted time>"
    assert repr(simulation()).startswith("<Simulation: 30 jobs, policy fifo, backfill easy, makespan ")
    assert repr(comparison()).startswith("<Comparison: 9 runs, 3 policies, smallest makespan ")


def test_a_line_by_another_objective() -> None:
    made = ringsched.plan(QUEUE, "first-fit", objective="mean-completion")
    assert f"mean completion {duration(made.mean_completion_s)}" in repr(made)
    assert "makespan" not in repr(made)


def test_a_line_with_a_long_name() -> None:
    shown = one_line("Plan", "x" * 500)
    assert len(shown) == LONGEST_LINE
    assert shown.endswith("x…>")


def test_html_of_a_plan_has_its_ends_and_totals() -> None:
    made = plan()
    shown = made._repr_html_()
    assert shown.count("<tr>") == 1 + 20 + 1  # heading, ten and ten jobs, what is left out
    assert "… 10 more jobs …" in shown
    assert ">j0<" in shown
    assert ">j10<" not in shown
    assert ">j29<" in shown
    assert f"gap: {made.quality}" in shown
    assert "bound: " in shown


def test_html_of_twenty_rows_leaves_nothing_out() -> None:
    shown = html_table("x", ["a"], 20, lambda at: [str(at)])
    assert "more" not in shown
    assert shown.count("<tr>") == 21


def test_html_calls_only_for_rows_it_shows() -> None:
    asked: list[int] = []
    html_table("x", ["a"], 10**9, lambda at: [str(asked.append(at) or at)])
    assert len(asked) == 20


@pytest.mark.parametrize("made", RESULTS)
def test_html_is_escaped(made: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    evil = "<script>alert('x')</script>"
    monkeypatch.setitem(globals(), "QUEUE", scenario(cluster(2), job(evil)))
    shown = made()._repr_html_()
    assert "<script>" not in shown
    assert made is comparison or "&lt;script&gt;" in shown


def test_html_of_a_simulation_and_a_comparison() -> None:
    assert "mean waiting: " in simulation()._repr_html_()
    shown = comparison()._repr_html_()
    assert ">longest-first<" in shown
    assert " to " in shown  # an interval
    assert "contention" not in shown
    assert shown.count("<tr>") == 4
    under_two = comparison(contention_models=["paper", "max-min"])._repr_html_()
    assert under_two.count(">max-min<") == 3


def test_frame_of_a_plan() -> None:
    made = plan()
    frame = made.to_frame()
    assert list(frame["job"]) == [each.name for each in made.jobs]
    assert list(frame["start_s"]) == [each.start_s for each in made.jobs]
    assert list(frame["finish_s"] - frame["start_s"]) == list(frame["duration_s"])
    assert frame["gpus"].dtype == int
    assert frame["finish_s"].max() == made.makespan_s


def test_frames_of_a_simulation() -> None:
    made = simulation()
    frame = made.to_frame()
    assert frame["waiting_s"].mean() == pytest.approx(made.waiting_s.mean())
    assert list(frame["backfilled"]) == list(made.backfilled)
    assert made.series.to_frame().shape == (len(made.series.time_s), 4)


def test_frame_of_a_comparison() -> None:
    made = comparison()
    frame = made.to_frame()
    assert len(frame) == len(made.rows) == 9
    means = frame.groupby("policy")["makespan_s"].mean()
    assert means["first-fit"] == pytest.approx(made.summary[0].means["makespan_s"])


@pytest.mark.parametrize("made", RESULTS)
def test_without_pandas_or_matplotlib(made: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    result = made()
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError) as frames:
        result.to_frame()
    assert str(frames.value) == "to_frame() needs pandas; in a clone of ringsched: pip install '.[frames]'"
    with pytest.raises(InputError) as plots:
        result.plot()
    assert str(plots.value) == "plot() needs matplotlib; in a clone of ringsched: pip install '.[plot]'"


@pytest.mark.parametrize("made", RESULTS)
def test_plots_go_where_they_should(made: Callable[[], Any]) -> None:
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    assert made().plot(ax=ax) is ax
    assert pyplot.get_fignums() == [figure.number]
    new = made().plot()
    assert len(pyplot.get_fignums()) == 2
    new.figure.canvas.draw()
    figure.canvas.draw()


def test_plot_of_a_plan_has_a_block_for_every_job_and_server() -> None:
    made = plan()
    ax = made.plot()
    num_blocks = sum(len(each.get_paths()) for each in ax.collections)
    assert num_blocks == sum(
        1 + sum(b - a > 1 for a, b in pairwise(held)) for each in made.jobs for held in each.gpus.values()
    )
    assert [label.get_text() for label in ax.get_yticklabels()] == ["s0", "s1"]
    assert ax.get_ylim() == (8, 0)


def test_plot_of_a_plan_at_unix_times_begins_at_the_first_release() -> None:
    made = ringsched.plan(UNIX, "first-fit")
    ax = made.plot()
    assert ax.get_xlim() == pytest.approx((0, made.makespan_s))
    assert min(path.vertices[:, 0].min() for each in ax.collections for path in each.get_paths()) == 0


def test_servers_are_sorted_by_their_numbers() -> None:
    many = scenario(cluster(*[1] * 12), job("wide", gpus=12))
    labels = ringsched.plan(many, "first-fit").plot().get_yticklabels()
    assert [label.get_text() for label in labels] == [f"s{at}" for at in range(12)]


def test_plot_of_a_simulation_has_its_series() -> None:
    made = simulation()
    ax = made.plot()
    busy = next(each for each in ax.figure.axes if each is not ax)
    assert list(ax.lines[0].get_ydata()) == list(made.series.queue_length)
    assert list(busy.lines[0].get_ydata()) == list(made.series.busy_gpus)
    assert busy.get_ylim() == pytest.approx((0, 8 * 1.05))


def test_plot_of_a_comparison_has_means_and_whiskers() -> None:
    made = comparison()
    ax = made.plot()
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["longest-first", "random"]
    pairs = [each.makespan_ratio for each in made.summary[1:]]
    points, _, (whiskers,) = ax.containers[0]
    assert list(points.get_xdata()) == [each.mean for each in pairs if each]
    ends = [segment[:, 0] for segment in whiskers.get_segments()]
    assert [list(each) for each in ends] == [pytest.approx([each.low, each.high]) for each in pairs if each]
    assert "over that of first-fit" in ax.get_xlabel()
    assert len(comparison(contention_models=["paper", "max-min"]).plot().containers) == 2
    assert "percentage points" in made.plot("contention_loss").get_xlabel()
    with pytest.raises(InputError, match="metric"):
        made.plot("speed")


def test_nothing_to_show(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = scenario(cluster(2))
    for result in (ringsched.plan(nothing, "first-fit"), ringsched.simulate(nothing)):
        assert "<table>" not in result._repr_html_()
        assert len(result.to_frame()) == 0
        result.plot().figure.canvas.draw()
    alone = ringsched.compare([QUEUE], ["first-fit"], workers=1)
    assert "1 policy" in repr(alone)
    alone.plot().figure.canvas.draw()
