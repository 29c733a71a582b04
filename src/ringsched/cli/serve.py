"""`ringsched serve`."""

from __future__ import annotations

import os

import click

from ringsched.errors import InputError

PORT = 8470


@click.command("serve")
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="Where to listen; 0 for any that is free.",
)
@click.option(
    "--token",
    metavar="TOKEN",
    envvar="RINGSCHED_TOKEN",
    help="What clients must know; auto makes one, as any address beyond this machine does.",
)
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(1, 64),
    help="Processes that work.  [default: cores, 2 to 4]",
)
@click.option(
    "--time-limit",
    metavar="S",
    type=click.FloatRange(min=0, min_open=True),
    help="End what takes longer.  [default: 60]",
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
def serve_command(
    host: str, port: int, token: str | None, workers: int | None, time_limit: float | None, open_page: bool
) -> None:
    """Open the lab: a page in the browser, and an HTTP API, to plan and look at plans.

    Listens on this machine only unless told otherwise; then a token is needed, which is printed as a part
    of the page's address. Reads and writes no files for those who ask. Ctrl-C ends it.
    """
    try:
        from ringsched.web.serve import access_to, bound_socket, serve
    except ImportError:
        raise InputError("ringsched serve needs FastAPI and uvicorn: pip install 'ringsched[web]'") from None
    from ringsched.web.limits import Limits

    given = {"workers": workers or max(2, min(4, os.cpu_count() or 1)), "work_s": time_limit}
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
