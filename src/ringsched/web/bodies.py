"""The bodies of requests, one strict class for each; errors have our own wording."""

from __future__ import annotations

import json
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from ringsched import api
from ringsched.errors import InputError, did_you_mean
from ringsched.formats.decode import once_each
from ringsched.model.checks import shown
from ringsched.model.contention import model_names
from ringsched.web import schema

ScenarioJson = Annotated[dict[str, Any], WithJsonSchema(schema.SCENARIO)]
PlanJson = Annotated[dict[str, Any], WithJsonSchema(schema.PLAN)]
JobJson = Annotated[dict[str, Any], WithJsonSchema(schema.NEW_JOB)]
Policy = Annotated[str, WithJsonSchema({"enum": [policy.name for policy in api.list_policies()]})]
Order = Annotated[str, WithJsonSchema({"enum": list(api.ORDERS)})]
Objective = Annotated[str, WithJsonSchema({"enum": list(api.OBJECTIVES)})]
ChangeJson = Annotated[dict[str, Any], WithJsonSchema(schema.CHANGE)]


class Body(BaseModel):
    """A request's body; null in an optional field means that it is absent."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ScenarioText(Body):
    """A scenario file to be checked and completed."""

    text: str
    format: str = Field(default="toml", json_schema_extra={"enum": ["toml", "json"]})


class Searching(Body):
    """Options of all planning requests."""

    seed: int | None = None
    objective: Objective | None = None
    time_limit_s: float | None = None
    iterations: int | None = None


class Planning(Searching):
    """How to plan; options that a policy does not use must be absent."""

    order: Order | None = None


class PlanBody(Planning):
    """A scenario to be planned."""

    scenario: ScenarioJson
    policy: Policy
    kappa: int | None = None
    theta: int | None = None
    slack: float | None = None
    gap: float | None = None
    pictures: bool | None = None


class VerifyBody(Body):
    """A plan to be checked."""

    scenario: ScenarioJson
    plan: PlanJson


class ExplainBody(VerifyBody):
    """A plan to be explained, all of it or one job."""

    job: str | None = None


class WhatIfBody(Planning):
    """What could be otherwise: changes, each by itself, or one more job."""

    scenario: ScenarioJson
    plan: PlanJson | None = None
    policy: Policy | None = None
    changes: list[ChangeJson] | None = None
    job: JobJson | None = None


class CompareBody(Searching):
    """Policies to be compared over scenarios and seeds."""

    scenarios: list[ScenarioJson]
    policies: list[Policy]
    orders: list[Annotated[str, WithJsonSchema({"enum": ["own", *api.ORDERS]})]] | None = None
    seeds: int | None = None
    contention_models: list[Annotated[str, WithJsonSchema({"enum": list(model_names())})]] | None = None


class PlansBody(Body):
    """Plans of one scenario by their labels."""

    scenario: ScenarioJson
    plans: dict[str, PlanJson]


_AnyBody = TypeVar("_AnyBody", bound=Body)


def parsed(kind: type[_AnyBody], raw: bytes) -> _AnyBody:
    """Return a body out of its bytes, or raise an InputError that says what is wrong with it.

    Examples
    --------
    >>> parsed(ScenarioText, b'{"txt": ""}')
    Traceback (most recent call last):
        ...
    ringsched.errors.InputError: unknown key 'txt' (did you mean 'text'?)
    """
    content = json_object(raw)
    known = list(kind.model_fields)
    for key in content:
        if key not in known:
            raise InputError(f"unknown key {shown(key)}{did_you_mean(key, known)}")
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise _in_our_words(error) from None


def json_object(raw: bytes) -> dict[str, Any]:
    """Return the object that a body holds; duplicate keys and NaN are refused."""
    try:
        content = json.loads(
            raw.decode("utf-8"), object_pairs_hook=once_each, parse_constant=_no_such_constant
        )
    except UnicodeDecodeError:
        raise InputError("the body is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deeply"
        raise InputError(f"the body is not valid JSON: {reason}") from None
    if not isinstance(content, dict):
        raise InputError(f"the body must hold a JSON object, not {shown(content)}")
    return content


def _no_such_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_WANTED = {
    "string_type": "a string",
    "string_unicode": "text that UTF-8 can hold",
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "an object",
    "list_type": "a list",
}


def _in_our_words(error: ValidationError) -> InputError:
    first = error.errors(include_url=False, include_context=False)[0]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])[1:]
    if first["type"] == "missing":
        return InputError("is missing", field=field)
    wanted = _WANTED.get(first["type"])
    if wanted is None:
        return InputError(f"is wrong: {first['msg']}", field=shown(field)[1:-1])
    return InputError(f"must be {wanted}, not {shown(first['input'])}", field=shown(field)[1:-1])
