"""The application, put together: workers, searches and limits behind its routes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from ringsched import __version__
from ringsched.web.guards import Access
from ringsched.web.lab import Lab
from ringsched.web.limits import Limits
from ringsched.web.replies import BUG, JSON, Refused, error_content
from ringsched.web.routes import api_routes
from ringsched.web.shell import Shell

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
DIRECTORIES = (("ringsched.reporting", "assets"), ("ringsched.web", "assets"))
PAGE = "index.html"


def asset_table() -> Mapping[str, Traversable]:
    """Return all assets by their names: those of reports, and those of the lab, which win.

    Examples
    --------
    >>> "report.css" in asset_table(), "../../etc/passwd" in asset_table()
    (True, False)
    """
    found: dict[str, Traversable] = {}
    for package, directory in DIRECTORIES:
        place = files(package).joinpath(directory)
        for entry in place.iterdir() if place.is_dir() else ():
            if entry.is_file() and media_type(entry.name) is not None:
                found[entry.name] = entry
    return found


def media_type(name: str) -> str | None:
    """Return the media type of a file, None if it is not served."""
    return MEDIA_TYPES.get(name[name.rfind(".") :]) if "." in name else None


WORDS = {404: "not found", 405: "method {method} is not allowed"}


def create_app(access: Access | None = None, limits: Limits | None = None, lab: Lab | None = None) -> ASGIApp:
    """Return the lab as an ASGI application; its workers start and end with it.

    Parameters
    ----------
    access
        Its address and token; by default 127.0.0.1 without a token.
    limits
        In size, time and number.
    lab
        What answers; by default one with these limits.
    """
    limits = limits or Limits()
    lab = lab or Lab(limits)
    app = FastAPI(
        title="ringsched",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # they load from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan_of(lab),
    )
    app.include_router(api_routes(lab))
    _add_page(app)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _mistake)  # which is raised again then, and so comes to the log
    return Shell(app, access or Access(), limits)


def _lifespan_of(lab: Lab) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await lab.start()
        try:
            yield
        finally:
            await lab.stop()

    return lifespan


def _add_page(app: FastAPI) -> None:
    assets = asset_table()

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> Response:
        return _asset(PAGE)

    @app.api_route("/assets/{name}", methods=["GET", "HEAD"], include_in_schema=False)
    async def asset(name: str) -> Response:
        return _asset(name)

    def _asset(name: str) -> Response:
        if name not in assets:
            raise Refused(404, WORDS[404])
        return Response(assets[name].read_bytes(), headers={"Content-Type": media_type(name) or ""})


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    content = error_content(error.message, **error.more)
    return Response(content, error.status, error.headers, JSON)


def _mistake(_: Request, __: Exception) -> Response:
    return Response(error_content(BUG), 500, None, JSON)


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = WORDS.get(error.status_code, str(error.detail))
    content = error_content(words.format(method=request.method[:20]))
    return Response(content, error.status_code, dict(error.headers or {}), JSON)


def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return Response(error_content(str(error.errors()[0]["msg"])), 422, None, JSON)
