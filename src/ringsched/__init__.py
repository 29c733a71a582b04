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
from ringsched.errors import Infeasible, InputError, PolicyError, RingschedError, UnknownName
from ringsched.io.catalogue import CATALOGUE
from ringsched.io.plan_file import load_plan, plan_to_json, save_plan
from ringsched.io.scenario_file import load_scenario, scenario_from_dict
from ringsched.model import (
    Bound,
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
from ringsched.verify import Verdict, Violation, verify

if TYPE_CHECKING:
    from ringsched.analysis.compare import Comparison, compare
    from ringsched.analysis.metrics import Metrics, metrics_of
    from ringsched.analysis.runs import ComparisonRow
    from ringsched.analysis.summary import PolicySummary, Ratio
    from ringsched.generate import contention_share, generate_paper, generate_uniform
    from ringsched.ring import RingRun, all_reduce

# Loaded when first asked for, so that importing ringsched stays quick.
_LATER = {
    "Comparison": "ringsched.analysis.compare",
    "compare": "ringsched.analysis.compare",
    "Metrics": "ringsched.analysis.metrics",
    "metrics_of": "ringsched.analysis.metrics",
    "ComparisonRow": "ringsched.analysis.runs",
    "PolicySummary": "ringsched.analysis.summary",
    "Ratio": "ringsched.analysis.summary",
    "contention_share": "ringsched.generate",
    "generate_paper": "ringsched.generate",
    "generate_uniform": "ringsched.generate",
    "RingRun": "ringsched.ring",
    "all_reduce": "ringsched.ring",
}

__all__ = [
    "CATALOGUE",
    "ORDERS",
    "Bound",
    "Cluster",
    "ClusterView",
    "Comparison",
    "ComparisonRow",
    "Contention",
    "CustomPolicy",
    "Infeasible",
    "InputError",
    "Job",
    "JobView",
    "Metrics",
    "Outcome",
    "Placement",
    "Plan",
    "PlannedJob",
    "PolicyError",
    "PolicySummary",
    "Rack",
    "Ratio",
    "RingRun",
    "RingschedError",
    "Scenario",
    "Server",
    "ServerView",
    "Time",
    "UnknownName",
    "Verdict",
    "Violation",
    "__version__",
    "all_reduce",
    "compare",
    "contention_share",
    "generate_paper",
    "generate_uniform",
    "list_policies",
    "load_plan",
    "load_scenario",
    "lower_bounds",
    "metrics_of",
    "plan",
    "plan_to_json",
    "replay",
    "save_plan",
    "scenario_from_dict",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'ringsched' has no attribute {name!r}")
