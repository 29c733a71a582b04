"""Traces of real clusters as scenarios, and topology files as clusters."""

from ringsched.importing.report import DroppedRows, ImportReport, NamedModel
from ringsched.importing.topology import ImportedTopology, import_topology
from ringsched.importing.trace import ImportedTrace, import_trace

__all__ = [
    "DroppedRows",
    "ImportReport",
    "ImportedTopology",
    "ImportedTrace",
    "NamedModel",
    "import_topology",
    "import_trace",
]
