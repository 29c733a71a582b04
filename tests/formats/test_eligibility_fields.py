"""Labels, windows, layouts, limits, priorities and deadlines in files: round trips, defaults and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

import ringsched
from ringsched.errors import InputError
from ringsched.formats.scenario import scenario_from_dict

MIXED = "examples/mixed.toml"


@pytest.mark.parametrize("name", ["copy.toml", "copy.json"])
def test_every_field_comes_back(name: str, tmp_path: Path) -> None:
    scenario = ringsched.load_scenario(MIXED, ["jobs.report.layout=any"])
    ringsched.save_scenario(scenario, tmp_path / name)
    assert ringsched.load_scenario(tmp_path / name) == scenario
    assert ringsched.load_scenario(tmp_path / name).sha256() == scenario.sha256()


def test_labels_with_any_name_come_back_from_toml(tmp_path: Path) -> None:
    scenario = ringsched.load_scenario(MIXED)
    servers = tuple(
        server.replace(labels={"a b.c": 'd "e"', **server.labels}) for server in scenario.cluster.servers
    )
    scenario = scenario.replace(cluster=scenario.cluster.replace(servers=servers))
    ringsched.save_scenario(scenario, tmp_path / "copy.toml")
    assert ringsched.load_scenario(tmp_path / "copy.toml") == scenario


def test_jobs_layout_is_a_default() -> None:
    layouts = {job.name: job.layout for job in ringsched.load_scenario(MIXED).jobs}
    assert set(layouts.values()) == {"balanced"}
    stated = ringsched.load_scenario(MIXED, ["jobs.report.layout=any"])
    assert [job.layout for job in stated.jobs] == ["balanced", "balanced", "balanced", "any"]


def test_defaults_are_left_out() -> None:
    job = ringsched.load_scenario("examples/first.toml").jobs[0].expanded()
    assert not {"requires", "layout", "limit_s", "priority", "deadline_s", "servers"} & job.keys()
    server = ringsched.load_scenario("examples/first.toml").cluster.servers[0].expanded()
    assert not {"labels", "unavailable_windows"} & server.keys()


def test_windows_that_overlap_are_one() -> None:
    server = ringsched.Server(name="a", gpus=1, unavailable_windows=((5, 9), (1, 3), (3, 4), (6, 7)))
    assert server.unavailable_windows == ((1.0, 4.0), (5.0, 9.0))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "jobs.pretrain.gpus=17",
            "requires leaves 16 GPUs on servers with gpu = 'a100', but the job needs 17",
        ),
        ('jobs.report.requires={gpu="h100"}', "requires leaves 0 GPUs on servers with gpu = 'h100'"),
        ("jobs.pretrain.gpus=13", "layout = 'balanced' is impossible"),
        ("jobs.report.layout=ballanced", "did you mean 'balanced'?"),
        ("jobs.report.limit_s=0", "limit_s must be a number > 0"),
        ("jobs.pretrain.servers=5", "servers must divide gpus = 12, not be 5"),
        (
            "jobs.pretrain.servers=3",
            "servers = 3 is impossible: too few servers with gpu = 'a100' hold 4 GPUs",
        ),
        ("jobs.pretrain.servers=0", "servers must be an integer >= 1"),
        ("jobs.report.priority=1.5", "priority must be an integer"),
        ("jobs.report.deadline_s=-1", "deadline_s must be a number >= 0"),
        ("servers.new.unavailable_windows=[[5,3]]", "unavailable_windows[0] must end after it begins"),
        ("servers.new.unavailable_windows=[5]", "unavailable_windows[0] must be a list of two times"),
        ("servers.new.unavailable_windows=[[1,2,3]]", "must hold two times, from_s and to_s, not 3"),
        ("servers.new.labels={gpu=3}", "labels.gpu must be a string, not 3"),
        ("servers.new.labels=5", "labels must be a table of labels"),
        ("jobs_layout=round", "unknown key"),
    ],
)
def test_wrong_values_are_named(override: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        ringsched.load_scenario(MIXED, [override])
    assert message in str(caught.value)


def test_a_wrong_jobs_layout_is_named() -> None:
    with pytest.raises(InputError, match="jobs_layout must be 'any' or 'balanced', not 'round'"):
        scenario_from_dict({"jobs_layout": "round", "jobs": [], "cluster": _cluster()})


def _cluster() -> dict[str, object]:
    speeds = {"inter_server_gbps": 1, "intra_server_gbps": 1, "reduce_gbps": 1}
    return {**speeds, "servers": [{"gpus": 1}]}
