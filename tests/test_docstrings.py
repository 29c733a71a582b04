"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import ringsched

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(ringsched.__path__, "ringsched.")
    if not module.name.endswith(("__main__", "ddp_worker"))  # that runs in a Python that has torch
)


@pytest.mark.parametrize("name", ["ringsched", *MODULES])
def test_examples_in_docstrings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[1])  # where examples/ is
    assert doctest.testmod(importlib.import_module(name)).failed == 0
