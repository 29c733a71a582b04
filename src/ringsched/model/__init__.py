"""The problem as frozen objects that check themselves."""

from ringsched.model.cluster import Cluster, Server, Switch
from ringsched.model.contention import Contention
from ringsched.model.job import Job
from ringsched.model.objective import OBJECTIVES
from ringsched.model.placement import Placement
from ringsched.model.plan import Bound, Certificate, Outcome, Plan, PlannedJob
from ringsched.model.scenario import Scenario, Time

__all__ = [
    "OBJECTIVES",
    "Bound",
    "Certificate",
    "Cluster",
    "Contention",
    "Job",
    "Outcome",
    "Placement",
    "Plan",
    "PlannedJob",
    "Scenario",
    "Server",
    "Switch",
    "Time",
]
