"""Chronus: the columns of Tiresias and more, times in minutes."""

from __future__ import annotations

from ringsched.formats.traces import tiresias
from ringsched.formats.traces.options import Units
from ringsched.formats.traces.table import Table
from ringsched.formats.traces.values import UNITS_S

# `expect_time_list` is what tells it from the format of Tiresias, whose times are in seconds.
CHRONUS = Table(
    columns=(*tiresias.COLUMNS, "expect_time_list"),
    others=("user", "iterations", "interval", "job_type"),
    read=tiresias.read_job,
    units=Units(*[UNITS_S["min"]] * 4),
)
