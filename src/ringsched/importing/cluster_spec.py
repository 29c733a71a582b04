"""The cluster specification that goes with traces of Tiresias: one row of counts."""

from __future__ import annotations

import csv
from pathlib import Path

from ringsched.errors import InputError
from ringsched.generate.like_servers import like_servers
from ringsched.io.files import read_text
from ringsched.model import Cluster
from ringsched.model.checks import MAX_GPUS, integer, shown

COLUMNS = ("num_switch", "num_node_p_switch", "num_gpu_p_node")


def cluster_of_spec(path: Path) -> Cluster:
    """Return the cluster: its switches only if there are several."""
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    try:
        header, *rows = csv.reader(lines)
    except csv.Error as error:
        raise InputError(f"is not valid CSV: {error}", file=str(path)) from None
    if len(rows) != 1:
        raise InputError(f"must hold one row below its header, not {len(rows)}", file=str(path))
    cells = dict(zip((name.strip() for name in header), rows[0], strict=False))
    try:
        switches, nodes, gpus = (_count(cells, column) for column in COLUMNS)
        return like_servers(switches * nodes, gpus, switches if switches > 1 else 0)
    except InputError as error:
        raise error.located(place="line 2", file=str(path)) from None


def _count(cells: dict[str, str], column: str) -> int:
    if column not in cells:
        raise InputError("is missing: not a cluster specification", field=column)
    try:
        count = int(cells[column])
    except ValueError:
        problem = f"must be an integer, not {shown(cells[column].strip())}"
        raise InputError(problem, field=column) from None
    return integer(count, column, minimum=1, maximum=MAX_GPUS)
