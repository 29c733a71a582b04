"""A policy is a queue order, a placement rule and a search over their parameters."""

from ringsched.policies.plans import plan_of, planned, settings_of
from ringsched.policies.policy import ORDERS, Candidate, Observer, Policy, Progress, Settings, Stop
from ringsched.policies.table import DEFAULT_ONLINE_POLICY, DEFAULT_POLICY, policies, policy_named

__all__ = [
    "DEFAULT_ONLINE_POLICY",
    "DEFAULT_POLICY",
    "ORDERS",
    "Candidate",
    "Observer",
    "Policy",
    "Progress",
    "Settings",
    "Stop",
    "plan_of",
    "planned",
    "policies",
    "policy_named",
    "settings_of",
]
