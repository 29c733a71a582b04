"""`ringsched serve` says in a sentence why it cannot."""

from __future__ import annotations

import sys

import pytest
from tests.cli.helpers import run

from ringsched.cli.serve import _ready
from ringsched.web.serve import bound_socket


def test_a_port_that_is_taken() -> None:
    with bound_socket("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        done = run("serve", "--port", str(port))
    assert done.exit_code == 2
    assert done.stderr == f"Error: 127.0.0.1:{port} cannot be used: address already in use\n"
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--token", "short"], "--token must have at least 16 characters"),
        (
            ["--host", "no.such.host.invalid"],
            "--host = 'no.such.host.invalid' is not an address of this machine",
        ),
        (["--port", "70000"], "70000 is not in the range 0<=x<=65535"),
        (["--request-timeout", "0"], "--request-timeout must be a number > 0, not 0.0"),
        (["--workers", "0"], "0 is not in the range 1<=x<=64"),
    ],
)
def test_wrong_options(options: list[str], sentence: str) -> None:
    done = run("serve", *options)
    assert done.exit_code == 2
    assert sentence in done.stderr


def test_what_listens_on_all_addresses_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    _ready(["http://127.0.0.1:1/", "http://gpu-head:1/"], open_page=False)
    assert capsys.readouterr().out.splitlines() == [
        "the lab is at http://127.0.0.1:1/",
        "it listens on all addresses of this machine; from elsewhere it is at http://gpu-head:1/",
        "Ctrl-C ends it",
    ]


def test_without_the_extra_the_command_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("ringsched.web.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = run("serve")
    assert done.exit_code == 2
    assert "pip install '.[web]'" in done.stderr
