"""The routes of searches: start one, look at it, listen to it, stop it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ringsched.web import answers, bodies
from ringsched.web.describe import REFUSALS, described, request_body
from ringsched.web.errors import Refused
from ringsched.web.lab import Lab
from ringsched.web.replies import JSON
from ringsched.web.searches import Search


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
        """Tell until the end; who comes in between is counted from here, not from the first event on."""
        if self._lab.num_streams >= self._lab.limits.streams:
            raise Refused(503, "too many listen already", headers={"Retry-After": "5"})
        self._lab.num_streams += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._lab.num_streams -= 1
