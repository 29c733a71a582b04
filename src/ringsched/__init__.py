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
from ringsched.verify import verify  # now: its package has the same name

if TYPE_CHECKING:
    from ringsched.analysis.compare.compare import compare
    from ringsched.analysis.explain.explain import explain
    from ringsched.analysis.metrics import metrics_of
    from ringsched.analysis.whatif.new_job import whatif_job
    from ringsched.analysis.whatif.variants import whatif
    from ringsched.api import list_policies, lower_bounds, plan, replay
    from ringsched.errors import Infeasible, InputError, PolicyError, RingschedError, TooLarge
    from ringsched.formats.plan import load_plan, save_plan
    from ringsched.formats.scenario import load_scenario, scenario_from_dict
    from ringsched.formats.scenario_text import save_scenario
    from ringsched.importing import import_topology, import_trace
    from ringsched.model.cluster import Cluster, Server, Switch
    from ringsched.model.contention import Contention
    from ringsched.model.job import Job
    from ringsched.model.objective import OBJECTIVES
    from ringsched.model.plan import Plan
    from ringsched.model.scenario import Scenario, Time
    from ringsched.online.simulate import simulate
    from ringsched.online.simulation import Simulation
    from ringsched.policies.policy import ORDERS, Observer, Policy, Stop
    from ringsched.reporting.report import report
    from ringsched.rules.table import Rule
    from ringsched.workloads import Workload, generate

# Loaded when first asked for, so that `import ringsched` and every command start at once. All else is
# reached through its package.
_LATER = {
    "compare": "ringsched.analysis.compare.compare",
    "explain": "ringsched.analysis.explain.explain",
    "metrics_of": "ringsched.analysis.metrics",
    "whatif_job": "ringsched.analysis.whatif.new_job",
    "whatif": "ringsched.analysis.whatif.variants",
    "list_policies": "ringsched.api",
    "lower_bounds": "ringsched.api",
    "plan": "ringsched.api",
    "replay": "ringsched.api",
    "Infeasible": "ringsched.errors",
    "InputError": "ringsched.errors",
    "PolicyError": "ringsched.errors",
    "RingschedError": "ringsched.errors",
    "TooLarge": "ringsched.errors",
    "load_plan": "ringsched.formats.plan",
    "save_plan": "ringsched.formats.plan",
    "load_scenario": "ringsched.formats.scenario",
    "scenario_from_dict": "ringsched.formats.scenario",
    "save_scenario": "ringsched.formats.scenario_text",
    "import_topology": "ringsched.importing",
    "import_trace": "ringsched.importing",
    "Cluster": "ringsched.model.cluster",
    "Server": "ringsched.model.cluster",
    "Switch": "ringsched.model.cluster",
    "Contention": "ringsched.model.contention",
    "Job": "ringsched.model.job",
    "OBJECTIVES": "ringsched.model.objective",
    "Plan": "ringsched.model.plan",
    "Scenario": "ringsched.model.scenario",
    "Time": "ringsched.model.scenario",
    "simulate": "ringsched.online.simulate",
    "Simulation": "ringsched.online.simulation",
    "ORDERS": "ringsched.policies.policy",
    "Observer": "ringsched.policies.policy",
    "Policy": "ringsched.policies.policy",
    "Stop": "ringsched.policies.policy",
    "report": "ringsched.reporting.report",
    "Rule": "ringsched.rules.table",
    "Workload": "ringsched.workloads",
    "generate": "ringsched.workloads",
}

__all__ = [
    "OBJECTIVES",
    "ORDERS",
    "Cluster",
    "Contention",
    "Infeasible",
    "InputError",
    "Job",
    "Observer",
    "Plan",
    "Policy",
    "PolicyError",
    "RingschedError",
    "Rule",
    "Scenario",
    "Server",
    "Simulation",
    "Stop",
    "Switch",
    "Time",
    "TooLarge",
    "Workload",
    "__version__",
    "compare",
    "explain",
    "generate",
    "import_topology",
    "import_trace",
    "list_policies",
    "load_plan",
    "load_scenario",
    "lower_bounds",
    "metrics_of",
    "plan",
    "replay",
    "report",
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


def __dir__() -> list[str]:
    return __all__
