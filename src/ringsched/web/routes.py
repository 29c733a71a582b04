"""The routes of the API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request, Response

from ringsched import __version__, api
from ringsched.analysis.as_json import policies_data
from ringsched.io.catalogue import CATALOGUE
from ringsched.model.contention import model_names
from ringsched.web import answers, bodies
from ringsched.web.describe import REFUSALS, described, request_body
from ringsched.web.errors import Refused
from ringsched.web.examples import EXAMPLES
from ringsched.web.lab import Lab
from ringsched.web.replies import HTML, Reply
from ringsched.web.search_routes import add_searches

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
    "explain": "Say who slows whom, by how much and on which link",
    "whatif": "Say what one more job, other servers or other links would change",
    "compare": "Compare policies over scenarios and seeds, in pairs",
    "pictures": "What is drawn of several plans, side by side",
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
            raise Refused(404, f"there is no such example; choose from {', '.join(EXAMPLES)}")
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
            "catalogue": {name: model.fields() for name, model in CATALOGUE.items()},
            "limits": lab.limits.told(),
        }
    )
