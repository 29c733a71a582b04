"""What answers look like, for OpenAPI; they are written by the workers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class ErrorFacts(BaseModel):
    """What is wrong, in a sentence, and where."""

    message: str
    place: str | None = None
    field: str | None = None
    status: str | None = None  # infeasible, or too-large
    lower_bound_s: float | None = None


class ErrorAnswer(BaseModel):
    """The one shape of all errors."""

    error: ErrorFacts


class PolicyFacts(BaseModel):
    """An entry of the table of policies."""

    name: str
    order: str
    rule: str
    search: str
    options: list[str]
    models: list[str]  # of contention
    summary: str


class ExampleFacts(BaseModel):
    """A scenario to begin with."""

    name: str
    title: str


class AboutAnswer(BaseModel):
    """What this server can do, and how much of it."""

    version: str
    policies: list[PolicyFacts]
    orders: list[str]
    objectives: list[str]
    contention_models: list[str]
    examples: list[ExampleFacts]
    catalogue: dict[str, dict[str, Any]]
    limits: dict[str, int | float]


class ExampleAnswer(BaseModel):
    """A scenario, expanded."""

    scenario: dict[str, Any]


class ScenarioAnswer(ExampleAnswer):
    """A scenario, expanded, and the digest that plans name it by."""

    sha256: str


class PlanAnswer(BaseModel):
    """A plan, how long planning took, and what is drawn of it."""

    plan: dict[str, Any]
    planning_s: float
    pictures: dict[str, Any] | None = None


class VerifyAnswer(BaseModel):
    """Whether a plan is valid, and every violation."""

    valid: bool
    violations: list[dict[str, Any]]


class CompareAnswer(BaseModel):
    """Means, pairs, rankings over models, and rows."""

    baseline: str
    summary: list[dict[str, Any]]
    models: list[dict[str, Any]]
    rankings: list[dict[str, Any]]
    drawn: list[dict[str, Any]]
    notes: list[str]
    rows: list[dict[str, Any]]


class SearchStarted(BaseModel):
    """The name of a search."""

    id: str


class SearchAnswer(BaseModel):
    """How far a search is, its best plan so far, and what it failed with."""

    state: str
    progress: dict[str, float | str] | None = None
    plan: dict[str, Any] | None = None
    error: ErrorFacts | None = None
