"""The figures in README and docs are those of the newest results, and no other figures are there."""

from __future__ import annotations

import re
from typing import Any

import pytest
from benchmarks.results import load_results, newest

from benchmarks import figures, page, statements


def test_documents_state_the_newest_figures_and_no_others() -> None:
    """`python -m benchmarks.figures --write` corrects the numbers; a new phrase is listed by hand."""
    assert figures.problems() == []


def test_the_page_of_benchmarks_is_written_from_the_results() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page(load_results())


def test_every_figure_is_stated_somewhere() -> None:
    stated = {name for each in statements.STATEMENTS for name in figures.PLACEHOLDER.findall(each)}
    assert set(statements.FIGURES) == stated


def test_every_table_is_in_a_document() -> None:
    shown = {name for text in figures.documents().values() for _, name, _ in figures.TABLE.findall(text)}
    assert set(statements.TABLES) == shown


@pytest.fixture
def one_figure(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A figure, a phrase that states it, and two results."""
    monkeypatch.setattr(figures, "STATEMENTS", ("simulates {speed} jobs a second",))
    monkeypatch.setattr(figures, "FIGURES", {"speed": statements.figure("some", "jobs/s")})
    return [{"figures": {"some": {"jobs/s": 1000.0}}}, {"figures": {"some": {"jobs/s": 31250.0}}}]


def test_the_newest_figure_is_written_wherever_lines_break(one_figure: list[dict[str, Any]]) -> None:
    text = "It simulates\n  12 jobs a second. Another 12 jobs."
    assert figures.rewritten(text, one_figure) == "It simulates\n  31,200 jobs a second. Another 12 jobs."


def test_a_table_is_written_between_its_marks(
    one_figure: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        figures, "TABLES", {"speeds": lambda results: [str(newest(results, "some")["jobs/s"])]}
    )
    begin, end = "<!-- figures: speeds -->", "<!-- end of figures -->"
    written = f"a\n{begin}\n\n31250.0\n\n{end}\nb"
    assert figures.rewritten(f"a\n{begin}\nold\n{end}\nb", one_figure) == written
    assert figures.rewritten(written, one_figure) == written


@pytest.mark.parametrize(
    "text",
    [
        "It plans 5,000 jobs a second.",
        "The kernels are 40 times faster.",
        "SimPy is a hundred times slower.",
        "A search takes 1.3 to 1.8 times as long.",
        "The search ends 1 % above the bound.",
        "It predicts them to 3 % in the median.",
        "With `phases`, the median error was 2.9 % on TCP.",
        "Two thousand jobs took 0.2 s on one core.",
        "The page of 2,000 jobs opens in 0.4 s.",
        "They are answered within a\nsecond.",
        "| explain | takes 12 ms |",
    ],
)
def test_a_figure_that_is_not_listed_is_found(text: str) -> None:
    assert list(figures.unlisted(text)) != []


@pytest.mark.parametrize(
    "text",
    [
        "Plan in slots of 60 s, with a limit of 10 seconds.",
        "```console\n$ ringsched plan\nit takes 5 s\n```",
        "Give `--time-limit 10s takes 3 s`.",
        "[here](a-search-takes-3 s)",
        "<!-- figures: exact -->\nSJF-BCO takes 3 s.\n<!-- end of figures -->",
        "Jobs of 8 GPUs on 4 servers.",
    ],
)
def test_settings_examples_and_generated_tables_are_no_figures(text: str) -> None:
    assert list(figures.unlisted(text)) == []


def test_a_listed_figure_is_no_finding(one_figure: list[dict[str, Any]]) -> None:
    assert list(figures.unlisted("It simulates 12 jobs a second.")) == []
    assert list(figures.unlisted("It plans 12 jobs a second.")) != []


def test_a_part_that_was_never_measured_names_its_command() -> None:
    with pytest.raises(LookupError, match=re.escape("python -m benchmarks.run nothing")):
        newest([{"figures": {}}], "nothing")


@pytest.mark.parametrize(
    ("value", "text"),
    [(32_614.2, "32,600"), (0.5274, "0.527"), (11.06, "11.1"), (999.7, "1,000"), (0.0, "0")],
)
def test_three_digits_as_people_write_them(value: float, text: str) -> None:
    assert statements.digits(value) == text
