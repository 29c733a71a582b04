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
from ringsched.io.catalogue import CATALOGUE
from ringsched.io.plan_file import load_plan, plan_to_json, save_plan
from ringsched.io.scenario_file import load_scenario, scenario_from_dict
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
    Rack,
    Scenario,
    Server,
    Time,
)
from ringsched.policies.custom import ClusterView, CustomPolicy, JobView, ServerView
from ringsched.policies.policy import Progress
from ringsched.verify import Verdict, Violation, verify

if TYPE_CHECKING:
    from ringsched.analysis.compare import Comparison, compare
    from ringsched.analysis.metrics import Metrics, metrics_of
    from ringsched.analysis.paper.claims import Claim
    from ringsched.analysis.paper.reproduce import Reproduction, reproduce_paper
    from ringsched.analysis.runs import ComparisonRow
    from ringsched.analysis.summary import Paired, PolicySummary
    from ringsched.generate import (
        contention_share,
        generate_diurnal,
        generate_paper,
        generate_poisson,
        generate_uniform,
        offered_load,
    )
    from ringsched.importing import DroppedRows, ImportedTrace, ImportReport, import_trace
    from ringsched.io.scenario_save import save_scenario
    from ringsched.ring import RingRun, all_reduce

# Loaded when first asked for, so that importing ringsched stays quick.
_LATER = {
    "Comparison": "ringsched.analysis.compare",
    "compare": "ringsched.analysis.compare",
    "Metrics": "ringsched.analysis.metrics",
    "metrics_of": "ringsched.analysis.metrics",
    "Claim": "ringsched.analysis.paper.claims",
    "Reproduction": "ringsched.analysis.paper.reproduce",
    "reproduce_paper": "ringsched.analysis.paper.reproduce",
    "ComparisonRow": "ringsched.analysis.runs",
    "Paired": "ringsched.analysis.summary",
    "PolicySummary": "ringsched.analysis.summary",
    "contention_share": "ringsched.generate",
    "generate_diurnal": "ringsched.generate",
    "generate_paper": "ringsched.generate",
    "generate_poisson": "ringsched.generate",
    "generate_uniform": "ringsched.generate",
    "offered_load": "ringsched.generate",
    "DroppedRows": "ringsched.importing",
    "ImportReport": "ringsched.importing",
    "ImportedTrace": "ringsched.importing",
    "import_trace": "ringsched.importing",
    "save_scenario": "ringsched.io.scenario_save",
    "RingRun": "ringsched.ring",
    "all_reduce": "ringsched.ring",
}

__all__ = [
    "CATALOGUE",
    "OBJECTIVES",
    "ORDERS",
    "AdapterError",
    "Bound",
    "Certificate",
    "Claim",
    "Cluster",
    "ClusterView",
    "Comparison",
    "ComparisonRow",
    "Contention",
    "CustomPolicy",
    "DroppedRows",
    "ImportReport",
    "ImportedTrace",
    "Infeasible",
    "InputError",
    "Job",
    "JobView",
    "Metrics",
    "Outcome",
    "Paired",
    "Placement",
    "Plan",
    "PlannedJob",
    "PolicyError",
    "PolicySummary",
    "Progress",
    "Rack",
    "Reproduction",
    "RingRun",
    "RingschedError",
    "Scenario",
    "Server",
    "ServerView",
    "Time",
    "TooLarge",
    "UnknownName",
    "Verdict",
    "Violation",
    "__version__",
    "all_reduce",
    "compare",
    "contention_share",
    "generate_diurnal",
    "generate_paper",
    "generate_poisson",
    "generate_uniform",
    "import_trace",
    "list_policies",
    "load_plan",
    "load_scenario",
    "lower_bounds",
    "metrics_of",
    "offered_load",
    "plan",
    "plan_to_json",
    "replay",
    "reproduce_paper",
    "save_plan",
    "save_scenario",
    "scenario_from_dict",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'ringsched' has no attribute {name!r}")
