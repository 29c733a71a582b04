"""Files and fields at the edge of what is allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Contention, InputError
from ringsched.formats.plan import plan_to_json

SPEEDS = {"inter_server_gbps": 10, "intra_server_gbps": 200, "reduce_gbps": 400}


def server_names(*entries: dict[str, Any]) -> list[str]:
    content = {"cluster": SPEEDS | {"servers": list(entries)}}
    return [server.name for server in ringsched.scenario_from_dict(content).cluster.servers]


def test_servers_without_a_name_are_numbered_through() -> None:
    assert server_names({"gpus": 1}, {"gpus": 2, "count": 2}, {"gpus": 1}) == ["s0", "s1", "s2", "s3"]


def test_servers_with_a_name_and_a_count_are_numbered_from_zero() -> None:
    assert server_names({"gpus": 1}, {"gpus": 2, "count": 2, "name": "x"}) == ["s0", "x-0", "x-1"]
    assert server_names({"gpus": 1, "name": "own"}) == ["own"]


def test_a_cluster_may_have_a_million_gpus_and_no_more() -> None:
    assert cluster(999_999, 1).capacity == 1_000_000
    with pytest.raises(InputError, match="more than 1000000 GPUs"):
        cluster(999_999, 2)


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "marked.json"
    content = {"cluster": SPEEDS | {"servers": [{"gpus": 1}]}}
    path.write_text(json.dumps(content), encoding="utf-8-sig")
    assert ringsched.load_scenario(path) == ringsched.scenario_from_dict(content)


def test_plan_files_hold_names_as_they_are(tmp_path: Path) -> None:
    plan = ringsched.plan(scenario(cluster(1), job("größer")))
    ringsched.save_plan(plan, tmp_path / "plan.json")
    assert '"größer"' in (tmp_path / "plan.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("worker", [["s0"], ["s0", 0, 0], "s0"])
def test_workers_of_a_ring_are_pairs(tmp_path: Path, worker: object) -> None:
    path = tmp_path / "plan.json"
    content = json.loads(plan_to_json(ringsched.plan(scenario(cluster(1), job()))))
    content["jobs"][0]["ring"] = [worker]
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=r"must be \[server, GPU\]"):
        ringsched.load_plan(path)


@pytest.mark.parametrize("held", [[0], [0, 1, 2]])
def test_a_running_job_names_as_many_gpus_as_it_has(held: list[int]) -> None:
    with pytest.raises(InputError, match="must name as many GPUs as the job has, 2"):
        job(gpus=2, running_on={"s0": held})


@pytest.mark.parametrize("table", [(), (1.0,)])
def test_a_table_needs_two_entries(table: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="at least two entries"):
        Contention(table=table)


@pytest.mark.parametrize("model", ["slotted", "continuous"])
def test_a_link_too_slow_to_ever_be_done_is_named_as_such(model: str) -> None:
    slow = cluster(1, 1, inter_server_gbps=1e-308)
    problem = scenario(slow, job("a", gpus=2, gradient_mb=1e10), time={"model": model})
    with pytest.raises(InputError, match=r"jobs\[0\] 'a': an iteration takes for ever at these link speeds"):
        ringsched.plan(problem)


def test_several_nics_add_up() -> None:
    def content(inter: object, server: object, rack: object) -> dict[str, object]:
        return {
            "cluster": {
                "inter_server_gbps": inter,
                "intra_server_gbps": 200,
                "reduce_gbps": 400,
                "servers": [{"gpus": 2, "rack": "r"}, {"gpus": 2, "uplink_gbps": server, "count": 2}],
                "racks": {"r": {"uplink_gbps": rack}},
            }
        }

    several = ringsched.scenario_from_dict(content([25, 25], [100, 100.5], [400] * 4))
    assert several.sha256() == ringsched.scenario_from_dict(content(50, 200.5, 1600)).sha256()
    assert several.cluster.servers[2].uplink_gbps == 200.5
    for given, said in {
        (50, (100, 0), 1600): "cluster.servers[1]: uplink_gbps[1] must be a number > 0, not 0",
        (50, (), 1600): "cluster.servers[1]: uplink_gbps must hold at least one speed",
        (50, (100,), ("a",)): "cluster.racks.r: uplink_gbps[0] must be a number > 0, not 'a'",
        ((True,), 1, 1): "cluster: inter_server_gbps[0] must be a number > 0, not true",
    }.items():
        with pytest.raises(InputError) as error:
            ringsched.scenario_from_dict(content(*(list(x) if isinstance(x, tuple) else x for x in given)))
        assert str(error.value) == said


def test_speeds_inside_servers_by_gpus_in_use(tmp_path: Path) -> None:
    def content(intra: object) -> dict[str, Any]:
        speeds = {"inter_server_gbps": 10, "intra_server_gbps": intra, "reduce_gbps": 400}
        return {"cluster": speeds | {"servers": [{"gpus": 8}, {"gpus": 8}]}}

    table = ringsched.scenario_from_dict(content({"8": 300, "2": 600, "4": 450.5}))
    assert table.cluster.inside_gbps == (600, 600, 600, 600, 450.5, 450.5, 450.5, 450.5, 300)
    assert table.expanded()["cluster"]["intra_server_gbps"] == {"2": 600.0, "4": 450.5, "8": 300.0}
    for name in ("copy.toml", "copy.json"):
        ringsched.save_scenario(table, tmp_path / name)
        assert ringsched.load_scenario(tmp_path / name) == table
    # A table of one step is one speed, and one speed that is set later replaces a table.
    one = ringsched.scenario_from_dict(content(600))
    assert ringsched.scenario_from_dict(content({"2": 600})).sha256() == one.sha256()
    assert table.cluster.replace(intra_server_gbps=200.0).intra_server_steps == ()
    assert table.cluster.replace(inter_server_gbps=20.0).inside_gbps == table.cluster.inside_gbps
    for said, given in {
        "cluster: intra_server_gbps.2 is missing: the speed between two GPUs": {"4": 450},
        "cluster: intra_server_gbps.1 must be an integer >= 2, not 1": {"1": 600, "2": 600},
        "cluster: intra_server_gbps.4 must be a number > 0, not 0": {"2": 600, "4": 0},
        "cluster: intra_server_gbps has the key 'a', which is not a number of GPUs; "
        "write {2 = 600, 8 = 400}": {"a": 1},
    }.items():
        with pytest.raises(InputError) as error:
            ringsched.scenario_from_dict(content(given))
        assert str(error.value) == said
    with pytest.raises(InputError, match=r"intra_server_gbps\.2 is missing"):
        ringsched.scenario_from_dict(content({}))


def test_an_iteration_takes_the_speed_of_the_fullest_server() -> None:
    one = job(gpus=6, iterations=10, gradient_mb=600, backward_ms=1)
    speeds = {"intra_server_gbps": {2: 800.0, 4: 20.0}, "inter_server_gbps": 100.0}
    times = {}
    for placement in ({"s0": [0, 1, 2, 3], "s1": [0, 1]}, {"s0": [0, 1, 2], "s1": [0, 1, 2]}):
        running = one.replace(running_on=placement, name="one")
        case = scenario(cluster(8, 8, **speeds), running, time={"model": "continuous"})
        plan = ringsched.plan(case, "first-fit")
        assert ringsched.verify(case, plan).valid
        times[len(placement["s0"])] = plan.makespan_s
    exchanged_gbit = 2 * 600 * 8e-3 * 5 / 6
    assert times[4] - times[3] == pytest.approx(10 * exchanged_gbit * (1 / 20 - 1 / 100))
