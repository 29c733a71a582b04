"""The example of a client finds its token wherever it is given."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PATH = Path(__file__).parents[2] / "examples" / "http_client.py"
URL, TOKEN = "http://gpu-head:8470/", "a-token-that-is-long"


@pytest.fixture
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("http_client", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("arguments", "variable", "sent"),
    [
        ([URL], None, None),
        ([URL, "--token", TOKEN], None, TOKEN),
        ([URL], TOKEN, TOKEN),
        ([f"{URL}#token={TOKEN}"], None, TOKEN),
        ([f"{URL}#token=of-the-address", "--token", TOKEN], "of-the-variable", TOKEN),
    ],
)
def test_the_token_of_the_client(
    example: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    variable: str | None,
    sent: str | None,
) -> None:
    toured: list[Any] = []
    monkeypatch.setattr(example, "tour", toured.append)
    monkeypatch.setattr(sys, "argv", ["http_client.py", *arguments])
    monkeypatch.delenv("RINGSCHED_TOKEN", raising=False)
    if variable is not None:
        monkeypatch.setenv("RINGSCHED_TOKEN", variable)
    example.main()
    (lab,) = toured
    assert lab.url == "http://gpu-head:8470/api/v1"
    assert lab.headers.get("Authorization") == (sent and f"Bearer {sent}")
