"""Traces of real clusters as scenarios."""

from ringsched.importing.report import DroppedRows, ImportReport, NamedModel
from ringsched.importing.trace import ImportedTrace, import_trace

__all__ = ["DroppedRows", "ImportReport", "ImportedTrace", "NamedModel", "import_trace"]
