"""What a narrow terminal shows: wrapped at words, with no option broken."""

from __future__ import annotations

import re
import sys

import pytest

from ringsched import api
from ringsched.cli.command import for_terminal
from ringsched.cli.tables import print_policies, show

ORDERS = tuple(api.ORDERS)
MESSAGE = (
    "Error: unknown policy 'seach' (did you mean 'search'?); choose from longest-first and list-scheduling"
)


@pytest.fixture
def narrow(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> pytest.CaptureFixture[str]:
    """A terminal of 80 columns."""
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    return capsys


@pytest.mark.parametrize("online", [False, True])
def test_policies_break_no_option(narrow: pytest.CaptureFixture[str], online: bool) -> None:
    """Names of options were cut in two."""
    policies = api.list_policies(online=online)
    print_policies(policies, ORDERS, online=online)
    shown = narrow.readouterr().out
    options = {
        option for policy in policies for option in (policy.online if online else policy.options) or ()
    }
    assert set(re.findall(r"^--([\w-]+): ", shown, re.MULTILINE)) == options
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 60


def test_policies_break_no_option_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    policies = api.list_policies()
    print_policies(policies, ORDERS, online=False)
    assert set(re.findall(r"--([\w-]+)(?=\s)", capsys.readouterr().out)) >= {
        option for policy in policies for option in policy.options
    }


@pytest.mark.usefixtures("narrow")
def test_an_error_is_wrapped_at_words() -> None:
    lines = for_terminal(MESSAGE).splitlines()
    assert len(lines) == 2
    assert max(map(len, lines)) <= 80
    assert " ".join(lines) == MESSAGE


def test_an_error_is_one_line_where_there_is_no_terminal() -> None:
    assert for_terminal(MESSAGE) == MESSAGE


def test_a_sentence_is_wrapped_at_words(narrow: pytest.CaptureFixture[str]) -> None:
    show([MESSAGE])
    lines = narrow.readouterr().out.splitlines()
    assert [line.rstrip() for line in lines] == for_terminal(MESSAGE).splitlines()
