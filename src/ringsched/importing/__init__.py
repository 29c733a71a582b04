"""Traces of real clusters as scenarios."""

from ringsched.importing.report import DroppedRows, ImportReport
from ringsched.importing.trace import ImportedTrace, import_trace

__all__ = ["DroppedRows", "ImportReport", "ImportedTrace", "import_trace"]
