"""How OpenAPI describes a route: its body, its answers, its refusals."""

from __future__ import annotations

from typing import Any

from ringsched.web import answers, bodies
from ringsched.web.replies import JSON

REFUSALS = {
    400: "Not HTTP as it should be",
    401: "The token is missing or wrong",
    403: "A host or an origin that may not ask",
    408: "The body came too slowly",
    409: "Infeasible; with the lower bound",
    413: "Larger than the limits",
    415: "Not application/json",
    422: "Wrong input, with its place and field",
    503: "Too much at once; with Retry-After",
    504: "Took longer than the limit",
}


def described(good: dict[int, Any], *refusals: int) -> dict[int | str, dict[str, Any]]:
    """Return the answers of a route for OpenAPI."""
    found: dict[int | str, dict[str, Any]] = {
        status: {"description": REFUSALS.get(status, "Not there"), "model": answers.ErrorAnswer}
        for status in refusals
    }
    for status, model in good.items():
        page = {"content": {"text/html": {"schema": {"type": "string"}}}}
        found[status] = {"description": "Fine", **(page if model is None else {"model": model})}
    return found


def request_body(kind: type[bodies.Body]) -> dict[str, Any]:
    """Return the body of a route for OpenAPI."""
    content = {JSON: {"schema": kind.model_json_schema(ref_template="#/components/schemas/{model}")}}
    return {"requestBody": {"required": True, "content": content}}
