"""`ringsched serve`."""

from __future__ import annotations

import os

import click

from ringsched.cli.command import Command, option
from ringsched.cli.values import DURATION
from ringsched.errors import InputError, needs
from ringsched.model.checks import number

PORT = 8470


@click.command("serve", cls=Command)
@option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Address to listen on.")
@option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="Port to listen on; 0 for any free port.",
)
@option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@option(
    "--token",
    metavar="TOKEN",
    envvar="RINGSCHED_TOKEN",
    stated="auto with any other --host",
    help="Token that clients must send; auto creates one.",
)
@option(
    "--workers",
    metavar="N",
    type=click.IntRange(1, 64),
    stated="cores, 2 to 4",
    help="Number of worker processes.",
)
@option(
    "--request-timeout",
    metavar="DURATION",
    type=DURATION,
    stated="1min",
    help="Longest time that one request may take.",
)
def serve_command(
    host: str,
    port: int,
    token: str | None,
    workers: int | None,
    request_timeout: float | None,
    open_page: bool,
) -> None:
    """Open the lab: a web page and an HTTP API for planning.

    Listens on this machine only by default; any other address needs a token, which is printed as part of the
    page's address. Does not read or write files for clients. Ctrl-C stops it.
    """
    if request_timeout is not None:
        number(request_timeout, "--request-timeout", above=0)
    try:
        from ringsched.web.serve import access_to, bound_socket, serve
    except ImportError:
        raise InputError(f"ringsched serve {needs('FastAPI and uvicorn', 'web')}") from None
    from ringsched.web.limits import Limits

    if request_timeout is not None:
        number(request_timeout, "--request-timeout", above=0)
    given = {"workers": workers or max(2, min(4, os.cpu_count() or 1)), "work_s": request_timeout}
    limits = Limits(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    access = access_to(host, token)
    serve(bound_socket(host, port), access, limits, lambda urls: _ready(urls, open_page))


def _ready(urls: list[str], open_page: bool) -> None:
    here, *elsewhere = urls
    click.echo(f"the lab is at {here}")
    for url in elsewhere:
        click.echo(f"it listens on all addresses of this machine; from elsewhere it is at {url}")
    click.echo("Ctrl-C ends it")
    if open_page:
        import webbrowser

        webbrowser.open(here)
