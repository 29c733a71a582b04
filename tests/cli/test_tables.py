"""Long tables: the bytes that rich prints, in much less time."""

from __future__ import annotations

import io
import os
import pty
import sys
import threading
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.table import Table

from ringsched.cli import tables
from ringsched.cli.tables import figures_table, show


def printed(table: Table, *, long: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(tables, "LONG", long)
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    show([table])
    return out.getvalue()


def by_both(table: Table) -> tuple[str, str]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        return (
            printed(table, long=0, monkeypatch=monkeypatch),
            printed(table, long=10**9, monkeypatch=monkeypatch),
        )


WORDS = st.lists(st.text("ab:-[]é漢", min_size=1, max_size=40), min_size=1, max_size=8).map(" ".join)


NAMES = st.text("ab:-[]é漢", min_size=1, max_size=15)
ROWS = st.lists(st.tuples(NAMES, st.integers(0, 10**9), WORDS), min_size=1, max_size=5)


def filled(rows: list[tuple[str, int, str]]) -> Table:
    table = figures_table("job\nname", "GPUs", last="servers:GPUs")
    for name, number, text in rows:
        table.add_row(name, str(number), text)
    return table


@given(ROWS)
def test_the_bytes_of_rich(rows: list[tuple[str, int, str]]) -> None:
    ours, richs = by_both(filled(rows))
    assert ours == richs


@given(st.lists(st.tuples(WORDS, st.integers(0, 10**9), WORDS), min_size=1, max_size=5))
def test_all_of_two_long_columns(rows: list[tuple[str, int, str]]) -> None:
    """Rich may give the odd cell of the width to the other column."""
    ours, richs = by_both(filled(rows))
    assert sorted("".join(ours.split())) == sorted("".join(richs.split()))
    assert max(map(cell_len, ours.splitlines())) <= tables.PLAIN_WIDTH


def test_a_table_that_does_not_fit_is_printed_wider(capsys: pytest.CaptureFixture[str]) -> None:
    table = figures_table("job", *[f"figure {at}" for at in range(20)])
    table.add_row("j", *["123456"] * 20)
    show([table])
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split("  ") == ["job", *(f"figure {at}" for at in range(20))]
    assert row.split() == ["j", *["123456"] * 20]


def test_names_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    show([long_table(1000, name="[red]:cat:")])
    assert "[red]:cat:999" in capsys.readouterr().out


def long_table(num_rows: int, name: str = "job-") -> Table:
    table = figures_table("job", "GPUs", "start s", "finish s", last="servers:GPUs")
    for at in range(num_rows):
        where = " ".join(f"server-{server}:0-7" for server in range(1 + at % 10 // 9 * 9))
        table.add_row(f"{name}{at}", str(at % 8), f"{at * 1.5:.1f}", f"{at * 2.5:.1f}", where)
    return table


@pytest.fixture
def no_rich_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich lays out no table: for 10,000 rows, it takes seven seconds."""

    def refuse(*_: object) -> NoReturn:
        pytest.fail("rich lays out a long table")

    monkeypatch.setattr(Table, "__rich_console__", refuse)


@pytest.mark.usefixtures("no_rich_table")
def test_ten_thousand_rows_to_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    show([long_table(10_000)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 10_000 + 1000
    assert lines[-2:] == [
        "job-9999     7  14998.5   24997.5  server-0:0-7 server-1:0-7 server-2:0-7 server-3:0-7 server-4:0-7",
        "                                   server-5:0-7 server-6:0-7 server-7:0-7 server-8:0-7 server-9:0-7",
    ]


@pytest.mark.usefixtures("no_rich_table")
def test_ten_thousand_rows_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    table, (reader, writer), read = long_table(10_000), pty.openpty(), bytearray()

    def drain() -> None:
        while b"job-9999" not in read:
            read.extend(os.read(reader, 65536))

    thread = threading.Thread(target=drain)
    thread.start()
    with os.fdopen(writer, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        show([table])
        terminal.flush()
        thread.join(30)
    os.close(reader)
    assert read.startswith(b"\x1b[1mjob")  # a bold heading, as rich has it
    assert b"job-9999" in read
