"""What is answered: JSON written once by the workers, and every error in one shape."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Mapping
from typing import Any, NamedTuple

from ringsched.errors import Infeasible, InputError, RingschedError
from ringsched.formats.plan import plan_to_json
from ringsched.model import Plan, Scenario
from ringsched.web.limits import OverLimit

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


# Where an option has another name over HTTP than on the command line.
FIELD_OF = {
    "time-limit": "time_limit_s",
    "server-slack": "slack",
    "max-schedules": "iterations",
    "add-servers": "add_servers",
    "remove-server": "remove_server",
}
FIELD_OF |= {"link-factor": "link_factor"}

LONGEST = 1000  # characters of a sentence: names may be as long as a body
BUG = "internal server error; see the server's log and report it"
TOO_MUCH_MEMORY = "this needs more memory than the server allows for one request"
BROKE = "the worker ran out of memory or crashed on this request; a retry would fail again"
KILLED = "the worker was killed; try again"


class Refused(Exception):
    """A request that is not served, with its status and its sentence."""

    def __init__(
        self, status: int, message: str, *, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.headers, self.more = status, message, headers or {}, more


def error_content(message: str, *, place: str | None = None, field: str | None = None, **more: Any) -> bytes:
    """Return the body of an error.

    Examples
    --------
    >>> error_content("kappa must be an integer >= 1, not 0", field="kappa")
    b'{"error": {"message": "kappa must be an integer >= 1, not 0", "field": "kappa"}}'
    """
    facts = {"message": _cut(message), "place": _cut(place), "field": _cut(field), **more}
    content = {"error": {key: value for key, value in facts.items() if value is not None}}
    return json.dumps(content, allow_nan=False).encode()


def _cut(text: str | None) -> str | None:
    """Return what is left of a sentence that quotes too much."""
    return text if text is None or len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def refusal(error: BaseException) -> tuple[int, bytes]:
    """Return status and body for what work ended with."""
    match error:
        case Infeasible():
            return 409, error_content(str(error), status=error.status, lower_bound_s=error.lower_bound_s)
        case InputError():
            return 422, _wrong_input(error)
        case OverLimit():
            return 413, error_content(str(error))
        case RingschedError():
            return 422, error_content(str(error))
        case MemoryError():
            return 413, error_content(TOO_MUCH_MEMORY)
        case RecursionError():
            return 422, error_content("is nested too deeply")
    traceback.print_exception(error, file=sys.stderr)
    return 500, error_content(BUG)


def _wrong_input(error: InputError) -> bytes:
    """Return the sentence of the command line, under the names that fields have here."""
    field = FIELD_OF.get(error.field or "", error.field)
    sentence = str(InputError(error.problem, field=field, place=error.place, file=error.file))
    return error_content(sentence, place=error.place, field=field)
