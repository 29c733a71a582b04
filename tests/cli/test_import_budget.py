"""Asking for help must not load what only planning or printing needs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("numba", "numpy", "matplotlib", "plotly", "pandas", "polars", "rich", "scipy", "hypothesis")
MOST_MODULES = 247  # 206 when measured, and a fifth more

SCRIPT = """
import json, sys
from ringsched.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def modules_after(*arguments: str) -> list[str]:
    """The modules loaded once the command line has done what it was asked."""
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(result.stderr.splitlines()[-1])


@pytest.mark.parametrize("arguments", [["plan", "--help"], ["policies", "--json"], ["compare", "--help"]])
def test_no_help_loads_the_compiler(arguments: list[str]) -> None:
    loaded = modules_after(*arguments)
    assert not {module.partition(".")[0] for module in loaded} & set(HEAVY) - {"numpy"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_light_commands_load_little(arguments: list[str]) -> None:
    loaded = modules_after(*arguments)
    assert not {module.partition(".")[0] for module in loaded} & set(HEAVY)
    assert len(loaded) <= MOST_MODULES, loaded
