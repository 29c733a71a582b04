"""Tables of figures: names to the left, numbers to the right."""

from __future__ import annotations

from rich.table import Table


def figures_table(first: str, *others: str, last: str | None = None) -> Table:
    """Return a table with a column of names, columns of figures, and perhaps one of text."""
    table = Table(box=None, pad_edge=False)
    table.add_column(first, overflow="fold")
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    if last is not None:
        table.add_column(last, overflow="fold")
    return table
