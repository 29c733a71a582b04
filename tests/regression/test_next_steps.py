"""Messages that left a reader without a next step."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.helpers import run, sentence

import ringsched
from ringsched.cli.tables import print_plan

FIRST = "examples/first.toml"
JOB = "gpus = 2\niterations = 9\ngradient_mb = 1\nminibatch = 1\nforward_ms = 1\nbackward_ms = 1\n"
CLUSTER = "[cluster]\ninter_server_gbps = 1\nintra_server_gbps = 1\nreduce_gbps = 1\nservers = [{gpus = 8}]\n"


def test_a_file_with_jobs_only_says_what_it_is_good_for(tmp_path: Path) -> None:
    """`profile -o queue.toml` writes such a file, and `check` said that the cluster is missing."""
    queue = tmp_path / "queue.toml"
    queue.write_text(f'[[jobs]]\nname = "mine"\n{JOB}')
    assert sentence(run("check", queue)) == (
        f"Error: {queue}: cluster is missing; this file only has jobs: add a [cluster] table, or use it with "
        "'ringsched whatif SCENARIO --add-job FILE'"
    )
    assert run("whatif", FIRST, "--add-job", queue).exit_code == 0


def test_a_jobs_file_below_a_table_says_where_it_belongs(tmp_path: Path) -> None:
    scenario = tmp_path / "late.toml"
    scenario.write_text(f'{CLUSTER}\n[contention]\nmodel = "phases"\njobs_file = "queue.csv"\n')
    assert sentence(run("check", scenario)) == (
        f"Error: {scenario}: contention: unknown key 'jobs_file'; it belongs at the top of the file, "
        "before the first table"
    )


@pytest.mark.parametrize("command", ["plan", "simulate"])
@pytest.mark.parametrize("name", ["plan.toml", "plan.csv"])
def test_a_plan_is_not_written_under_the_name_of_another_format(
    tmp_path: Path, command: str, name: str
) -> None:
    output = tmp_path / name
    said = sentence(run(command, FIRST, "-o", output))
    assert said == f"Error: {output}: plans are written as JSON; name it plan.json"
    assert not output.exists()


def test_a_field_of_another_contention_model_is_to_be_removed() -> None:
    said = sentence(run("plan", FIRST, "--set", "contention={model='phases', share=1}"))
    assert said.endswith('share is only allowed with model = "paper"; remove it')


def test_a_search_that_ends_by_itself_counts_its_schedules(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = ringsched.load_scenario(FIRST)
    plan = ringsched.plan(scenario, "first-fit").replace(ended="stalled", params={"iterations": 40000})
    print_plan(scenario, plan, None)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.split("  ")[-1].strip() == "no further improvement (40000 schedules tried)"


def test_rolling_cannot_plan_and_says_where_it_works() -> None:
    said = sentence(run("plan", FIRST, "--policy", "rolling"))
    assert "works in 'ringsched simulate' and 'ringsched slurm' only" in said
    assert said.endswith("use 'search' here")


def test_a_plan_without_a_search_counts_no_schedules() -> None:
    plan = ringsched.plan(ringsched.load_scenario(FIRST), "search")
    assert plan.params == {"iterations": 0}
    assert plan.choices == ["order any"]
