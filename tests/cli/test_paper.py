"""`ringsched paper`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tests.cli.helpers import run, sentence
from tests.tiny import needs_compiler


@needs_compiler
def test_tables_figures_and_a_page(tmp_path: Path) -> None:
    result = run(
        "paper", "--seeds", 2, "--only", "lambda,kappa", "-o", tmp_path / "new" / "folder", "--workers", 1
    )
    assert result.exit_code == 0, result.stderr
    folder = tmp_path / "new" / "folder"
    names = {path.name for path in folder.iterdir()}
    assert {"lambda.csv", "lambda.svg", "kappa.csv", "kappa.svg", "claims.csv", "paper.md"} <= names
    assert "fall, rise, fall" in result.stdout
    assert "20 rows in" in result.stdout
    page = (folder / "paper.md").read_text(encoding="utf-8")
    assert "(lambda.svg)" in page
    assert str(tmp_path) not in page
    assert str(tmp_path) not in (folder / "lambda.svg").read_text(encoding="utf-8")


@needs_compiler
def test_a_page_elsewhere_and_a_second_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ("paper", "--seeds", 1, "--only", "lambda", "-o", "figures", "--page", "page.md")
    assert run(*arguments).exit_code == 0
    page = Path("page.md").read_text(encoding="utf-8")
    assert "(figures/lambda.svg)" in page
    assert "ringsched paper --seeds 1 -o figures --page page.md" in page
    drawn = Path("figures/lambda.svg").read_bytes()
    assert "4 of them from before" in run(*arguments).stdout
    assert Path("figures/lambda.svg").read_bytes() == drawn


@needs_compiler
def test_json() -> None:
    content = json.loads(run("paper", "--seeds", 1, "--only", "lambda", "--json").stdout)
    assert [row["slack"] for row in content["rows"]["lambda"]] == [1, 2, 4, 8]
    assert {claim["verdict"] for claim in content["claims"]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seeds", "0"], "--seeds must be an integer >= 1, not 0"),
        (["--seeds", "10001"], "--seeds must be at most 10000"),
        (["--workers", "0"], "--workers must be an integer >= 1"),
        (["--only", "kapa"], "--only must be one of policies"),
        (["--page", "page.md"], "--page needs --output"),
        (["-o", "file"], "file: is a file, not a directory"),
        (["-o", "file/below"], "cannot be made"),
        (["-o", "folder", "--page", "nowhere/page.md"], "there is no directory"),
        (["-o", "folder", "--page", "folder"], "is a directory, not a file"),
    ],
)
def test_bad_input(options: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine", encoding="utf-8")
    Path("folder").mkdir()
    assert said in sentence(run("paper", *options))
    assert Path("file").read_text(encoding="utf-8") == "mine"


def test_a_folder_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)  # what anyone but root would meet
    assert "permission denied" in sentence(run("paper", "-o", tmp_path))


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install '.[plot]'" in sentence(run("paper", "-o", tmp_path))
