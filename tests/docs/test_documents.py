"""The README and the docs are executed: commands print what they say, Python blocks run.

A fenced block with the language `console` holds commands after `$ ` and what they print; `python` blocks
run one after another; a block whose info string has `file=NAME` is written to that file. All blocks of a
document run in one fresh folder beside a copy of examples/; what a line `$ export NAME=VALUE` says holds from
there on. A document that starts a local Slurm needs one installed. `UPDATE_DOCS=1` rewrites the outputs in
place.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from ringsched.clusters.slurm.local import LocalCluster, missing_programs

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LONG = ("comparing.md", "neighbours.md")  # dozens of plans each, left to `make nightly`
NOT_HERE = ("make ", "pip ", "git ", "cd ", "apt-get ")  # what sets the machine up; CI itself is their test


EXPORT = re.compile(r"\$ export (\w+)=(.*)")


@contextmanager
def slurm_folder() -> Iterator[Path]:
    """A folder with a short name, for sockets; no cluster in it stays."""
    folder = Path(tempfile.mkdtemp(prefix="ringsched-"))
    try:
        yield folder
    finally:
        cluster = LocalCluster(folder / "slurm-local")
        if cluster.config.exists():
            cluster.stop()
        shutil.rmtree(folder)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "document",
    [pytest.param(path, marks=pytest.mark.slow if path.name in LONG else ()) for path in DOCUMENTS],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_document(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = document.read_text(encoding="utf-8")
    starts_slurm = "$ ringsched slurm local" in text
    if starts_slurm and (missing := missing_programs()):
        pytest.skip(f"NO SLURM HERE: {', '.join(missing)} missing")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("RINGSCHED_KERNELS", raising=False)  # as a reader has it
    for variable in ("SLURM_CONF", "RINGSCHED_NETWORK"):  # set back afterwards, whatever the document exports
        monkeypatch.setenv(variable, "")
    with slurm_folder() if starts_slurm else nullcontext(tmp_path) as folder:
        shutil.copytree(ROOT / "examples", folder / "examples")
        monkeypatch.chdir(folder)
        namespace: dict[str, Any] = {}
        renewed = BLOCK.sub(lambda match: _executed(match, namespace), text)
    if os.environ.get("UPDATE_DOCS"):
        document.write_text(renewed, encoding="utf-8")
    assert renewed == text


def _executed(match: re.Match[str], namespace: dict[str, Any]) -> str:
    language, info, body = match.groups()
    if name := re.search(r"file=(\S+)", info):
        Path(name[1]).write_text(body, encoding="utf-8")
    elif language == "python":
        exec(compile(body, "document", "exec"), namespace)
    elif language == "console":
        commands = re.findall(r"^\$ .*$", body, re.MULTILINE)
        if not any(command[2:].startswith(NOT_HERE) for command in commands):
            return f"```{language}{info}\n{''.join(_shown(commands))}```"
    return match[0]


def _shown(commands: list[str]) -> list[str]:
    """Run the commands of a block in one shell session's manner, so that `$?` is the last exit code."""
    shown, status = [], 0
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", f"(exit {status}); {command[2:]}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
            timeout=600,  # a busy machine may take long to start a server
        )
        status = done.returncode
        if exported := EXPORT.fullmatch(command):
            value = subprocess.run(
                ["bash", "-c", f"printf %s {exported[2]}"], stdout=subprocess.PIPE, check=True
            )
            os.environ[exported[1]] = value.stdout.decode()
        lines = [line.rstrip() for line in done.stdout.splitlines()]
        shown.append("\n".join([command, *lines, ""]))
    return shown
