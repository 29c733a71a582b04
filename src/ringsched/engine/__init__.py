"""The event core: start, finish, release; it knows no policy."""

from ringsched.engine.problem import Problem, problem_of
from ringsched.engine.state import Arrays, Run, State

__all__ = ["Arrays", "Problem", "Run", "State", "problem_of"]
