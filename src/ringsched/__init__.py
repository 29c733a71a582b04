"""ringsched: contention-aware gang scheduling for ring-all-reduce training.

>>> import ringsched
>>> scenario = ringsched.load_scenario("examples/first.toml")
>>> plan = ringsched.plan(scenario, policy="longest-first")
>>> ringsched.verify(scenario, plan).valid
True
"""

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

__all__ = [
    "CATALOGUE",
    "ORDERS",
    "Bound",
    "Cluster",
    "ClusterView",
    "Contention",
    "CustomPolicy",
    "Infeasible",
    "InputError",
    "Job",
    "JobView",
    "Outcome",
    "Placement",
    "Plan",
    "PlannedJob",
    "PolicyError",
    "Rack",
    "RingschedError",
    "Scenario",
    "Server",
    "ServerView",
    "Time",
    "UnknownName",
    "Verdict",
    "Violation",
    "__version__",
    "list_policies",
    "load_plan",
    "load_scenario",
    "lower_bounds",
    "plan",
    "plan_to_json",
    "replay",
    "save_plan",
    "scenario_from_dict",
    "verify",
]
