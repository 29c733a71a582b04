"""The independent check of plans.

It imports the data model and nothing else of ours, and keeps its own copy of the formulas, so that a
mistake in the planner cannot hide itself here.
"""

from ringsched.verify.verdict import Verdict, Violation
from ringsched.verify.verifier import verify

__all__ = ["Verdict", "Violation", "verify"]
