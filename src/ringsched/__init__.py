"""ringsched: contention-aware gang scheduling for ring-all-reduce training.

>>> import ringsched
>>> scenario = ringsched.load_scenario("examples/first.toml")
>>> plan = ringsched.plan(scenario, policy="longest-first")
>>> ringsched.verify(scenario, plan).valid
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ringsched._version import __version__
from ringsched.api import ORDERS, list_policies, lower_bounds, plan, replay
from ringsched.errors import (
    AdapterError,
    Infeasible,
    InputError,
    PolicyError,
    RingschedError,
    TooLarge,
    UnknownName,
)
from ringsched.formats.jobs import CATALOGUE
from ringsched.formats.plan import load_plan, plan_to_json, save_plan
from ringsched.formats.scenario import load_scenario, scenario_from_dict
from ringsched.model import (
    OBJECTIVES,
    Bound,
    Certificate,
    Cluster,
    Contention,
    Job,
    Outcome,
    Placement,
    Plan,
    PlannedJob,
    Scenario,
    Server,
    Switch,
    Time,
)
from ringsched.policies.custom import ClusterView, CustomPolicy, JobView, ServerView
from ringsched.policies.policy import Progress
from ringsched.verify import Verdict, Violation, verify

if TYPE_CHECKING:
    from ringsched.analysis.compare.compare import Comparison, UnderModel, compare
    from ringsched.analysis.compare.ranking import DrawnPair, RankedPair, Ranking, Stability
    from ringsched.analysis.compare.runs import ComparisonRow
    from ringsched.analysis.compare.summary import Paired, PolicySummary
    from ringsched.analysis.explain.explain import explain
    from ringsched.analysis.explain.ledger import Blame, Gain, JobAccount, Ledger, LinkAccount, WithoutJob
    from ringsched.analysis.metrics import Metrics, metrics_of
    from ringsched.analysis.over_time import OverTime, SizeClass, over_time
    from ringsched.analysis.whatif.changes import (
        AddServers,
        LinkFactor,
        LinkSpeed,
        OtherContention,
        RemoveServer,
        Together,
    )
    from ringsched.analysis.whatif.new_job import Answer, Option, whatif_job
    from ringsched.analysis.whatif.variants import FinishChange, Variant, WhatIf, whatif
    from ringsched.calibrate.fit import Fit, calibration_of, fit_measurements, save_calibration
    from ringsched.calibrate.measurements import Measurement, load_measurements, save_measurements
    from ringsched.formats.calibration import load_calibration
    from ringsched.formats.scenario_text import save_scenario
    from ringsched.importing import DroppedRows, ImportedTrace, ImportReport, import_trace
    from ringsched.model.calibration import Calibration, apply_calibration
    from ringsched.online.settings import Standing
    from ringsched.online.simulate import simulate
    from ringsched.online.simulation import Series, Simulation
    from ringsched.paper.claims import Claim
    from ringsched.paper.reproduce import Reproduction, reproduce_paper
    from ringsched.reporting.perfetto import perfetto_trace
    from ringsched.reporting.pictures.draw import draw_pictures
    from ringsched.reporting.report import report
    from ringsched.ring import RingRun, all_reduce
    from ringsched.workloads.generator import generate
    from ringsched.workloads.workload import Workload

# Loaded when first asked for, so that importing ringsched stays quick.
_LATER = {
    "Blame": "ringsched.analysis.explain.ledger",
    "JobAccount": "ringsched.analysis.explain.ledger",
    "LinkAccount": "ringsched.analysis.explain.ledger",
    "explain": "ringsched.analysis.explain.explain",
    "Ledger": "ringsched.analysis.explain.ledger",
    "Gain": "ringsched.analysis.explain.ledger",
    "WithoutJob": "ringsched.analysis.explain.ledger",
    "compare": "ringsched.analysis.compare.compare",
    "Comparison": "ringsched.analysis.compare.compare",
    "UnderModel": "ringsched.analysis.compare.compare",
    "Metrics": "ringsched.analysis.metrics",
    "metrics_of": "ringsched.analysis.metrics",
    "OverTime": "ringsched.analysis.over_time",
    "SizeClass": "ringsched.analysis.over_time",
    "over_time": "ringsched.analysis.over_time",
    "Claim": "ringsched.paper.claims",
    "Reproduction": "ringsched.paper.reproduce",
    "reproduce_paper": "ringsched.paper.reproduce",
    "RankedPair": "ringsched.analysis.compare.ranking",
    "Ranking": "ringsched.analysis.compare.ranking",
    "ComparisonRow": "ringsched.analysis.compare.runs",
    "DrawnPair": "ringsched.analysis.compare.ranking",
    "Stability": "ringsched.analysis.compare.ranking",
    "Paired": "ringsched.analysis.compare.summary",
    "PolicySummary": "ringsched.analysis.compare.summary",
    "AddServers": "ringsched.analysis.whatif.changes",
    "LinkFactor": "ringsched.analysis.whatif.changes",
    "LinkSpeed": "ringsched.analysis.whatif.changes",
    "OtherContention": "ringsched.analysis.whatif.changes",
    "RemoveServer": "ringsched.analysis.whatif.changes",
    "Together": "ringsched.analysis.whatif.changes",
    "whatif_job": "ringsched.analysis.whatif.new_job",
    "Answer": "ringsched.analysis.whatif.new_job",
    "Option": "ringsched.analysis.whatif.new_job",
    "FinishChange": "ringsched.analysis.whatif.variants",
    "Variant": "ringsched.analysis.whatif.variants",
    "WhatIf": "ringsched.analysis.whatif.variants",
    "whatif": "ringsched.analysis.whatif.variants",
    "calibration_of": "ringsched.calibrate.fit",
    "save_calibration": "ringsched.calibrate.fit",
    "Fit": "ringsched.calibrate.fit",
    "fit_measurements": "ringsched.calibrate.fit",
    "Measurement": "ringsched.calibrate.measurements",
    "load_measurements": "ringsched.calibrate.measurements",
    "save_measurements": "ringsched.calibrate.measurements",
    "DroppedRows": "ringsched.importing",
    "ImportReport": "ringsched.importing",
    "ImportedTrace": "ringsched.importing",
    "import_trace": "ringsched.importing",
    "load_calibration": "ringsched.formats.calibration",
    "save_scenario": "ringsched.formats.scenario_text",
    "Calibration": "ringsched.model.calibration",
    "apply_calibration": "ringsched.model.calibration",
    "Standing": "ringsched.online.settings",
    "simulate": "ringsched.online.simulate",
    "Series": "ringsched.online.simulation",
    "Simulation": "ringsched.online.simulation",
    "perfetto_trace": "ringsched.reporting.perfetto",
    "draw_pictures": "ringsched.reporting.pictures.draw",
    "report": "ringsched.reporting.report",
    "RingRun": "ringsched.ring",
    "all_reduce": "ringsched.ring",
    "Workload": "ringsched.workloads",
    "generate": "ringsched.workloads",
}

__all__ = [
    "CATALOGUE",
    "OBJECTIVES",
    "ORDERS",
    "AdapterError",
    "AddServers",
    "Answer",
    "Blame",
    "Bound",
    "Calibration",
    "Certificate",
    "Claim",
    "Cluster",
    "ClusterView",
    "Comparison",
    "ComparisonRow",
    "Contention",
    "CustomPolicy",
    "DrawnPair",
    "DroppedRows",
    "FinishChange",
    "Fit",
    "Gain",
    "ImportReport",
    "ImportedTrace",
    "Infeasible",
    "InputError",
    "Job",
    "JobAccount",
    "JobView",
    "Ledger",
    "LinkAccount",
    "LinkFactor",
    "LinkSpeed",
    "Measurement",
    "Metrics",
    "Option",
    "OtherContention",
    "Outcome",
    "OverTime",
    "Paired",
    "Placement",
    "Plan",
    "PlannedJob",
    "PolicyError",
    "PolicySummary",
    "Progress",
    "RankedPair",
    "Ranking",
    "RemoveServer",
    "Reproduction",
    "RingRun",
    "RingschedError",
    "Scenario",
    "Series",
    "Server",
    "ServerView",
    "Simulation",
    "SizeClass",
    "Stability",
    "Standing",
    "Switch",
    "Time",
    "Together",
    "TooLarge",
    "UnderModel",
    "UnknownName",
    "Variant",
    "Verdict",
    "Violation",
    "WhatIf",
    "WithoutJob",
    "Workload",
    "__version__",
    "all_reduce",
    "apply_calibration",
    "calibration_of",
    "compare",
    "draw_pictures",
    "explain",
    "fit_measurements",
    "generate",
    "import_trace",
    "list_policies",
    "load_calibration",
    "load_measurements",
    "load_plan",
    "load_scenario",
    "lower_bounds",
    "metrics_of",
    "over_time",
    "perfetto_trace",
    "plan",
    "plan_to_json",
    "replay",
    "report",
    "reproduce_paper",
    "save_calibration",
    "save_measurements",
    "save_plan",
    "save_scenario",
    "scenario_from_dict",
    "simulate",
    "verify",
    "whatif",
    "whatif_job",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'ringsched' has no attribute {name!r}")
