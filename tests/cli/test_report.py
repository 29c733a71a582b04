"""`ringsched report`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.cli.helpers import FULL, run, sentence, write_json

EXAMPLE = Path(__file__).parents[2] / "examples" / "first.toml"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a scenario and two plans, to be in."""
    monkeypatch.chdir(tmp_path)
    for policy in ("first-fit", "random"):
        assert run("plan", EXAMPLE, "--policy", policy, "-o", f"{policy}.json").exit_code == 0
    return tmp_path


def test_a_page(folder: Path) -> None:
    result = run("report", EXAMPLE, "first-fit.json", "random.json")
    assert (result.exit_code, result.stdout) == (0, "report written to report.html\n")
    page = Path("report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert '"label":"first-fit"' in page
    assert str(folder) not in page


def test_a_trace(folder: Path) -> None:
    assert (
        run("report", EXAMPLE, "first-fit.json", "--format", "perfetto").stdout
        == "trace written to trace.json\n"
    )
    assert json.loads(Path("trace.json").read_text(encoding="utf-8"))["traceEvents"]


def test_pictures(folder: Path) -> None:
    result = run("report", EXAMPLE, "first-fit.json", "--format", "svg", "-o", "new/folder")
    assert result.exit_code == 0, result.stderr
    names = {path.name for path in Path("new/folder").iterdir()}
    assert names == {"completions.svg", "gantt.svg", "links.svg", "blame.svg"}
    assert result.stdout.startswith("4 pictures written to new/folder: completions.svg, gantt.svg")


def test_without_matplotlib(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = sentence(run("report", EXAMPLE, "first-fit.json", "--format", "png"))
    assert "needs matplotlib; in a clone of ringsched: pip install '.[plot]'" in said
    assert not Path("pictures").exists()


def test_a_plan_of_another_scenario(folder: Path) -> None:
    other = write_json(folder, FULL, "other.json")
    Path("report.html").write_text("old")
    said = sentence(run("report", other, "first-fit.json"))
    assert said == "Error: first-fit.json: was made for another scenario, or the scenario was changed since"
    assert Path("report.html").read_text() == "old"


def test_an_invalid_plan_is_drawn(folder: Path) -> None:
    plan = json.loads(Path("first-fit.json").read_text(encoding="utf-8"))
    plan["jobs"][0]["finish_s"] = 1.0
    write_json(folder, plan, "broken.json")
    for kind in ("html", "perfetto", "svg"):
        result = run("report", EXAMPLE, "broken.json", "--format", kind)
        assert result.exit_code == 0
        assert "Warning: broken is not valid" in result.stderr


def test_wrong_use(folder: Path) -> None:
    assert "is the plan itself" in sentence(run("report", EXAMPLE, "first-fit.json", "-o", "first-fit.json"))
    assert "is given twice" in sentence(run("report", EXAMPLE, "random.json", "random.json"))
    assert "there is no such file" in sentence(run("report", EXAMPLE, "nothing.json"))
    assert "is a file, not a directory" in sentence(
        run("report", EXAMPLE, "random.json", "--format", "svg", "-o", "first-fit.json")
    )
    assert "no directory" in sentence(run("report", EXAMPLE, "random.json", "-o", "none/report.html"))
    assert "is a scenario, not a plan" in sentence(run("report", EXAMPLE, write_json(folder, FULL)))
    assert "PLAN... is missing" in sentence(run("report", EXAMPLE))
    assert "names no file" in sentence(run("report", EXAMPLE, "random.json", "-o", "-"))


def test_scenario_is_not_overwritten(folder: Path) -> None:
    scenario = folder / "queue.toml"
    scenario.write_bytes(EXAMPLE.read_bytes())
    assert "is the scenario itself" in sentence(run("report", scenario, "random.json", "-o", scenario))
    assert scenario.read_bytes() == EXAMPLE.read_bytes()
