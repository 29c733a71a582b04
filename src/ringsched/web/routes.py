"""The routes of the API, of searches, and of the page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ringsched import __version__, api
from ringsched.analysis.as_json import policies_data
from ringsched.formats.catalogue import TIMED
from ringsched.model.contention import model_names
from ringsched.web import answers, bodies
from ringsched.web.examples import EXAMPLES
from ringsched.web.lab import Lab
from ringsched.web.replies import HTML, JSON, Refused, Reply
from ringsched.web.searches import Search

REFUSALS = {
    400: "Invalid HTTP",
    401: "The token is missing or wrong",
    403: "The host or the origin is not allowed",
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


def add_searches(router: APIRouter, lab: Lab) -> None:
    """Add these routes."""
    good = {200: answers.SearchAnswer}

    @router.post(
        "/searches",
        status_code=201,
        summary="Start a search",
        response_class=Response,
        responses=described({201: answers.SearchStarted}, *REFUSALS),
        openapi_extra=request_body(bodies.PlanBody),
    )
    async def start_search(request: Request) -> Response:
        raw = await request.body()
        checked = await lab.work("check_search", raw, request)
        if checked.status != 200:
            return Response(checked.content, checked.status, media_type=JSON)
        search = lab.searches.start(raw)
        return Response(f'{{"id": "{search.id}"}}', 201, media_type=JSON)

    @router.get(
        "/searches/{id}",
        summary="How far a search is",
        response_class=Response,
        responses=described(good, 401, 403, 404, 422),
    )
    async def look_at_search(id: str) -> Response:
        return _searched(lab.searches.named(id))

    @router.delete(
        "/searches/{id}",
        summary="Stop a search; answers with its best plan",
        response_class=Response,
        responses=described(good, 401, 403, 404, 422),
    )
    async def stop_search(id: str) -> Response:
        search = lab.searches.named(id)
        await lab.searches.stop(search)
        return _searched(search)

    @router.get(
        "/searches/{id}/events",
        summary="A search as server-sent events: progress, better, end",
        response_class=StreamingResponse,
        responses=_events_described(),
    )
    async def listen_to_search(id: str) -> StreamingResponse:
        return _Stream(lab, lab.searches.named(id))


def _events_described() -> dict[int | str, dict[str, Any]]:
    found = described({}, 401, 403, 404, 422, 503)
    found[200] = {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    return found


def _searched(search: Search) -> Response:
    return Response(search.content(), media_type=JSON)


class _Stream(StreamingResponse):
    """Events of a search, for no more listeners than may be."""

    def __init__(self, lab: Lab, search: Search) -> None:
        super().__init__(search.events(), media_type="text/event-stream")
        self._lab = lab

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the end; a listener counts from here on, not from its first event."""
        if self._lab.num_streams >= self._lab.limits.streams:
            raise Refused(503, "too many event streams are open; close one", headers={"Retry-After": "5"})
        self._lab.num_streams += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._lab.num_streams -= 1


_POST: dict[str, tuple[str, type[bodies.Body], Any]] = {
    "scenario": ("check_scenario", bodies.ScenarioText, answers.ScenarioAnswer),
    "plan": ("plan", bodies.PlanBody, answers.PlanAnswer),
    "verify": ("verify", bodies.VerifyBody, answers.VerifyAnswer),
    "explain": ("explain", bodies.ExplainBody, dict[str, Any]),
    "whatif": ("whatif", bodies.WhatIfBody, dict[str, Any]),
    "compare": ("compare", bodies.CompareBody, answers.CompareAnswer),
    "pictures": ("pictures", bodies.PlansBody, dict[str, Any]),
    "report": ("report", bodies.PlansBody, None),
}
_SUMMARIES = {
    "scenario": "Check a scenario file and fill in what it leaves out",
    "plan": "Decide which GPUs each job gets and when it starts",
    "verify": "Check a plan independently of what made it",
    "explain": "Attribute contention to jobs and links",
    "whatif": "Evaluate one more job, other servers or other links",
    "compare": "Compare policies over scenarios and seeds, in pairs",
    "pictures": "The pictures of several plans, side by side",
    "report": "The report: one page of HTML, as a download",
}


def api_routes(lab: Lab) -> APIRouter:
    """Return all routes under /api/v1."""
    router = APIRouter(prefix="/api/v1")
    _add_looking(router, lab)
    for path, (work, body, answer) in _POST.items():
        router.add_api_route(
            f"/{path}",
            _worked(lab, work),
            methods=["POST"],
            summary=_SUMMARIES[path],
            operation_id=path,
            response_class=Response,
            responses=described({200: answer}, *REFUSALS),
            openapi_extra=request_body(body),
        )
    add_searches(router, lab)
    return router


def _worked(lab: Lab, work: str) -> Callable[[Request], Awaitable[Response]]:
    async def route(request: Request) -> Response:
        return _response(await lab.work(work, await request.body(), request))

    return route


def _response(reply: Reply) -> Response:
    headers = (
        {"Content-Disposition": 'attachment; filename="report.html"'} if reply.media_type == HTML else {}
    )
    return Response(reply.content, reply.status, headers, reply.media_type)


def _add_looking(router: APIRouter, lab: Lab) -> None:
    about = _about(lab)

    @router.get("/about", summary="What this server can do", responses=described({}, 401, 403))
    async def tell_about() -> answers.AboutAnswer:
        return about

    @router.get(
        "/examples/{name}",
        summary="A scenario to begin with",
        response_class=Response,
        responses=described({200: answers.ExampleAnswer}, 401, 403, 404, 422, 503, 504),
    )
    async def give_example(name: str) -> Response:
        if name not in EXAMPLES:
            raise Refused(404, f"no such example; choose from {', '.join(EXAMPLES)}")
        return _response(await lab.example(name))


def _about(lab: Lab) -> answers.AboutAnswer:
    return answers.AboutAnswer.model_validate(
        {
            "version": __version__,
            "policies": policies_data(),
            "orders": list(api.ORDERS),
            "objectives": list(api.OBJECTIVES),
            "contention_models": list(model_names()),
            "examples": [{"name": name, "title": example.title} for name, example in EXAMPLES.items()],
            "catalogue": {name: model.fields() for name, model in TIMED.items()},
            "limits": lab.limits.as_dict(),
        }
    )
