"""What workers answer with, written as JSON once and passed on as bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from ringsched.io.plan_file import plan_to_json
from ringsched.model import Plan, Scenario

JSON = "application/json"
HTML = "text/html; charset=utf-8"


class Reply(NamedTuple):
    """What goes back to the client."""

    status: int
    content: bytes
    media_type: str = JSON


def plan_reply(scenario: Scenario, plan: Plan, planning_s: float, *, pictures: bool) -> Reply:
    """Return a plan as its file has it, and its pictures."""
    parts = {"plan": plan_json(plan), "planning_s": json.dumps(planning_s)}
    if pictures:
        parts["pictures"] = pictures_json(scenario, {plan.policy: plan})
    return Reply(200, joined(parts))


def plan_json(plan: Plan) -> str:
    """Return the plan file's JSON on one line, as events need it."""
    return plan_to_json(plan).replace("\n", "")


def pictures_json(scenario: Scenario, plans: Mapping[str, Plan]) -> str:
    """Return all that a report shows of plans."""
    from ringsched.reporting.data import report_data

    return dumps(report_data(scenario, plans))


def joined(parts: Mapping[str, str]) -> bytes:
    """Return the JSON object whose values are written already."""
    inner = ", ".join(f"{json.dumps(key)}: {value}" for key, value in parts.items())
    return f"{{{inner}}}".encode()


def json_reply(content: object) -> Reply:
    """Return content as JSON."""
    return Reply(200, dumps(content).encode())


def dumps(content: object) -> str:
    """Return compact JSON."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
