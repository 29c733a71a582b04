"""Requests in every form, and the nodes that may run them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import examples
from tests.slurm_double import SlurmDouble

from ringsched.clusters.network import Network
from ringsched.clusters.slurm.eligibility import Eligible, Surroundings, eligible, features_test
from ringsched.clusters.slurm.nodes import SlurmNode
from ringsched.clusters.slurm.priorities import Priorities, read_priorities
from ringsched.clusters.slurm.requests import Request, request_of, restored, shape_of
from ringsched.clusters.slurm.site import Partition, Reservation, partitions_in, read_site, reservations_in
from ringsched.clusters.slurm.snapshot import SlurmSnapshot, read_slurm, snapshot_of, windows_of
from ringsched.errors import InputError

FIELDS: dict[str, Any] = {"gpus": 4, "iterations": 10, "model": "resnet50"}
TASK = {"tres_per_task": "gres:gpu:1", "tasks": 8, "cpus": 8, "node_count": 1}
JOB = {"tres_per_job": "gres:gpu:8", "tasks": 1, "cpus": 1, "node_count": 1}
NODE = {"tres_per_node": "gres:gpu:4", "tasks": 2, "cpus": 2, "node_count": 2, "max_nodes": 2}


@pytest.mark.parametrize(
    ("record", "is_free", "layouts"),
    [
        (TASK, True, [1, 2, 4, 8]),
        (JOB, True, [1, 2, 4, 8]),
        (JOB | {"tasks": 8, "cpus": 8}, True, [1, 2, 4, 8]),
        (JOB | {"tasks": 4, "cpus": 4}, False, [1, 2, 4]),
        (NODE, False, [2]),
        (NODE | {"tasks": 8, "tasks_per_node": 4}, False, [2]),
        (JOB | {"node_count": 2, "max_nodes": 2, "tasks": 2}, False, [2]),
        (JOB | {"node_count": 3, "max_nodes": 4, "tasks": 1}, False, [4]),
        (TASK | {"node_count": 2, "max_nodes": 2}, False, [2]),
        (TASK | {"tres_per_task": "gres:gpu:2", "tasks": 4}, False, [1, 2, 4]),
        (TASK | {"required_nodes": "a,b"}, False, [2, 4, 8]),
        ({"tres_per_node": "gres:gpu:4", "tasks": 1, "node_count": 1}, False, [1]),
    ],
)
def test_layouts(record: dict[str, Any], is_free: bool, layouts: list[int]) -> None:
    request = request_of(record)
    assert (request.is_free, request.layouts()) == (is_free, layouts)


@pytest.mark.parametrize(
    ("record", "servers", "updates"),
    [
        (
            TASK | {"cpus": 16},
            {"a": 4, "b": 4},
            [["NumNodes=2-2", "ReqNodeList=a,b", "TasksPerNode=4", "NumTasks=8"], ["NumCPUs=16"]],
        ),
        (
            JOB | {"tres_per_job": "gres:gpu:a100:8"},
            {"a": 4, "b": 4},
            [
                [
                    "NumNodes=2-2",
                    "ReqNodeList=a,b",
                    "TasksPerNode=1",
                    "NumTasks=2",
                    "TresPerNode=gres:gpu:a100:4",
                    "TresPerJob=",
                ],
                ["NumCPUs=2"],
            ],
        ),
        (NODE, {"b": 4, "a": 4}, [["NumNodes=2-2", "ReqNodeList=b,a"]]),
    ],
)
def test_updates(record: dict[str, Any], servers: dict[str, int], updates: list[list[str]]) -> None:
    assert request_of(record).updates(servers) == updates


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"tasks": 2}, "asks for no GPUs"),
        ({"tasks": 2, "tres_per_task": "gres:gpu:1", "tres_per_node": "gres:gpu:2"}, "states its GPUs"),
        ({"tasks": 2, "tres_per_socket": "gres:gpu:1"}, "states its GPUs"),
    ],
)
def test_requests_that_cannot_be_planned(record: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        request_of(record)


@examples(200)
@given(
    st.sampled_from([TASK, JOB, NODE, JOB | {"tasks": 8, "cpus": 8}]),
    st.sampled_from([{}, {"required_nodes": "x,y"}, {"cpus_per_tres": "gres:gpu:2"}]),
    st.data(),
)
def test_a_request_is_known_again_after_it_was_changed(
    record: dict[str, Any], more: dict[str, Any], data: st.DataObject
) -> None:
    """Whatever update the controller wrote, its note brings the request back."""
    first = request_of(record | more)
    nodes = data.draw(st.sampled_from(first.layouts()))
    servers = {f"n{at}": first.gpus // nodes for at in range(nodes)}
    changed = SlurmDouble(dict.fromkeys(servers, 8))
    changed.jobs[1] = {"tres_per_node": "", "required_nodes": ""} | record | more
    for words in first.updates(servers):
        changed._update(changed.jobs[1], tuple(words))
    assert restored(request_of(_only_one_way(changed.jobs[1])), shape_of(first)) == first


def _only_one_way(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value != ""}


def node(name: str, gpus: int = 8, **more: Any) -> SlurmNode:
    given = {"used": 0, "partitions": ("gpu",), "state": "IDLE", "usable": True, "types": {"": gpus}}
    given |= {"cpus": 64, "memory_mb": 64_000} | more
    return SlurmNode(name=name, gpus=gpus, **given)


def around(*nodes: SlurmNode, **more: Any) -> Surroundings:
    names = frozenset(each.name for each in nodes)
    given: dict[str, Any] = {"partitions": {"gpu": Partition(name="gpu", nodes=names)}} | more
    return Surroundings(now_s=0.0, nodes=nodes, capacity={each.name: each.gpus for each in nodes}, **given)


def choose(record: dict[str, Any], where: Surroundings, partitions: str = "gpu") -> Eligible:
    return eligible(request_of(record), partitions.split(","), where)


def test_types_features_and_excluded_nodes() -> None:
    where = around(
        node("a", types={"a100": 8}, features=frozenset({"ib"})),
        node("b", types={"v100": 8}, features=frozenset({"ib"})),
        node("c", types={"a100": 8}),
    )
    assert choose(TASK | {"tres_per_task": "gres:gpu:a100:1"}, where).nodes == {"a", "c"}
    assert choose(TASK | {"features": "ib"}, where).nodes == {"a", "b"}
    assert choose(TASK | {"excluded_nodes": "a,c"}, where).nodes == {"b"}
    assert choose(TASK | {"required_nodes": "b"}, where) == Eligible(
        nodes=frozenset({"b"}), servers=1, limit_s=float("inf"), partition=where.partitions["gpu"]
    )
    with pytest.raises(InputError, match="no node of partition gpu has what it asks for: GPU type h100"):
        choose(TASK | {"tres_per_task": "gres:gpu:h100:1"}, where)


def test_cpus_and_memory_fix_the_layout() -> None:
    """Eight GPUs with twelve CPUs each do not fit on 64 CPUs, but four do."""
    where = around(node("a"), node("b"), node("c", cpus=8))
    found = choose(TASK | {"cpus": 96}, where)
    assert (found.nodes, found.servers) == ({"a", "b"}, 2)
    assert choose(
        TASK | {"memory_per_node": 65_000, "cpus": 8}, around(node("a"), node("b", memory_mb=99_000))
    ).nodes == {"b"}
    assert choose(TASK | {"memory_per_tres": "gres:gpu:9000"}, where).servers == 2
    with pytest.raises(InputError, match="in equal parts"):
        choose(TASK | {"cpus": 8 * 65}, where)


def test_cpus_that_others_use_are_waited_for() -> None:
    busy = node("a", cpus_used=60)
    assert choose(TASK, around(busy, node("b"))).nodes == {"b"}
    with pytest.raises(InputError, match="waits for CPUs or memory that other jobs use"):
        choose(TASK, around(busy))
    full = node("a", memory_used_mb=64_000)
    assert choose(TASK | {"memory_per_cpu": 10}, around(full)).nodes == {"a"}
    with pytest.raises(InputError, match="waits for CPUs or memory"):
        choose(TASK | {"memory_per_cpu": 10}, around(full, shares_memory=True))
    # With all GPUs in use as well, it waits for those, and may be planned.
    assert choose(TASK, around(node("a", used=8, cpus_used=64))).nodes == {"a"}


def test_an_exclusive_job_gets_whole_nodes_only() -> None:
    where = around(node("a", 4), node("b", 4), node("c", 8))
    assert choose(NODE | {"shared": "none"}, where).nodes == {"a", "b"}
    assert choose(TASK | {"shared": "none"}, where).nodes == {"c"}


def test_reservations() -> None:
    mine = Reservation(name="mine", nodes=frozenset({"a"}), start_s=-10, end_s=100)
    later = Reservation(name="later", nodes=frozenset({"b"}), start_s=90, end_s=200)
    where = around(node("a"), node("b"), node("c"), reservations=(mine, later))
    assert choose(TASK, where).nodes == {"c"}  # without a limit it might still run then
    assert choose(TASK | {"time_limit": 1}, where).nodes == {"b", "c"}
    assert choose(TASK | {"time_limit": 1, "resv_name": "mine"}, where).nodes == {"a"}
    for limit, name, problem in ((2, "mine", "beyond the end"), (1, "later", "waits for its reservation")):
        with pytest.raises(InputError, match=problem):
            choose(TASK | {"time_limit": limit, "resv_name": name}, where)
    assert windows_of((mine, later), 0.0) == {"b": [(90.0, 200.0)]}


def test_partitions() -> None:
    names = frozenset("ab")
    small = Partition(name="small", nodes=frozenset("c"), max_s=600, default_s=300)
    wide = Partition(name="wide", nodes=names, min_nodes=2, max_nodes=2)
    down = Partition(name="down", nodes=names, is_up=False)
    where = around(node("a"), node("b"), node("c"), partitions={p.name: p for p in (small, wide, down)})
    assert choose(TASK, where, "small").limit_s == 300
    with pytest.raises(InputError, match="more than the 600 s of partition small"):
        choose(TASK | {"time_limit": 11}, where, "small")
    assert choose(TASK, where, "wide").servers == 2
    with pytest.raises(InputError, match="which is not up"):
        choose(TASK, where, "down")
    with pytest.raises(InputError, match="is in partition other, which is not planned here"):
        choose(TASK, where, "other")
    assert choose(TASK, where, "small,wide").partition.name == "wide"  # it has more free GPUs


@pytest.mark.parametrize(
    ("text", "features", "is_met"),
    [
        ("", "", True),
        ("a", "a b", True),
        ("a&b", "a", False),
        ("a|b", "b", True),
        ("a|b&c", "a", False),  # from left to right, as Slurm does
        ("(a|b)&c", "b c", True),
        ("a&(b|(c&d))", "a c d", True),
    ],
)
def test_features(text: str, features: str, is_met: bool) -> None:
    assert features_test(text)(frozenset(features.split())) is is_met


@pytest.mark.parametrize("text", ["[a|b]", "a*2&b*1"])
def test_features_of_groups_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="which is not planned"):
        features_test(text)


@examples(300)
@given(
    st.lists(st.integers(1, 8), min_size=1, max_size=5),
    st.sampled_from([1, 2, 3, 4, 6, 8, 12]),
    st.integers(1, 12),
    st.integers(4, 64),
)
def test_an_eligible_job_really_fits(sizes: list[int], gpus: int, cpus: int, node_cpus: int) -> None:
    """By brute force: some layout of the chosen kind exists, with CPUs for it; and else there is none."""
    nodes = [node(f"n{at}", size, cpus=node_cpus) for at, size in enumerate(sizes)]
    request: Request = request_of(TASK | {"tasks": gpus, "cpus": gpus * cpus})

    def fits(servers: int) -> set[str]:
        each = gpus // servers
        return {n.name for n in nodes if n.gpus >= each and n.cpus >= cpus * each}

    possible = [k for k in range(1, gpus + 1) if gpus % k == 0 and len(fits(k)) >= k]
    try:
        found = eligible(request, ["gpu"], around(*nodes))
    except InputError:
        assert not possible
        return
    assert possible
    if found.servers is not None:
        assert found.servers == possible[0]
        assert found.nodes == fits(found.servers)
    else:
        assert all(n.cpus >= cpus * min(gpus, n.gpus) for n in nodes if n.name in found.nodes)


ROW = "ReservationName={} StartTime=2026-11-17T10:00:00 EndTime=2026-11-17T11:00:00 Nodes={} Watts=n/a"


def test_text_of_slurm() -> None:
    (found,) = reservations_in(f"{ROW.format('r', 'n[1-2]')}\n{ROW.format('lease', '(null)')}\nNo more")
    assert (found.name, found.nodes, found.end_s - found.start_s) == ("r", {"n1", "n2"}, 3600)
    assert partitions_in("No partitions in the system") == {}


def snapshot(slurm: SlurmDouble) -> SlurmSnapshot:
    return snapshot_of(read_slurm(slurm, ["gpu"], slurm.now_s), Network())


def test_equal_sets_of_nodes_share_a_label() -> None:
    slurm = SlurmDouble({"a": 4, "b": 4, "c": 4})
    slurm.types |= {"a": "a100", "b": "a100", "c": "v100"}
    for kind in ("", "a100:", "a100:", "v100:"):
        slurm.add(FIELDS, tasks=4, tres_per_task=f"gres:gpu:{kind}1", time_limit=5)
    scenario = snapshot(slurm).scenario
    labels = [dict(job.requires) for job in scenario.jobs]
    assert labels[0] == {}
    assert labels[1] == labels[2] != labels[3]
    for job in scenario.jobs:
        assert (job.layout, job.limit_s) == ("balanced", 300.0)
    (key,) = labels[1]
    assert [server.labels.get(key) for server in scenario.cluster.servers] == ["yes", "yes", None]


def test_tasks_of_an_array_are_jobs_up_to_its_limit() -> None:
    slurm = SlurmDouble({"a": 4})
    slurm.add(FIELDS, tasks=4, array_job_id=1, array_task_string="0,3-5%2", array_max_tasks=2)
    found = snapshot(slurm)
    assert list(found.queued) == ["job-1_0", "job-1_3"]
    assert set(found.left) == {"job-1_4", "job-1_5"}
    assert "which runs 2 at a time" in found.left["job-1_5"]


def test_priorities_by_partition_qos_and_share() -> None:
    slurm = SlurmDouble({"a": 4})
    slurm.partitions = {"gpu": "Nodes=a PriorityTier=1", "urgent": "Nodes=a PriorityTier=9"}
    for more in ({}, {"nice": 10}, {"partition": "urgent"}, {"qos": "high"}):
        slurm.add(FIELDS, tasks=4, **more)
    jobs = read_slurm(slurm, ["gpu", "urgent"], slurm.now_s).jobs
    site = read_site(slurm)
    plain = [Priorities(qos={"high": 5}).of(job, site.partitions[job.partition]) for job in jobs]
    assert plain[2] > plain[3] > plain[0] > plain[1]
    assert read_priorities(slurm, site) == Priorities()
    weights = {"qos": 100, "fairshare": 100, "partition": 0}
    shares = Priorities(weights=weights, qos={"high": 5}, fairshare={("", "ann"): 0.25})
    assert [shares.of(job, site.partitions["gpu"]) % 100 for job in jobs[::3]] == [12, 62]


def test_accounting_is_read_where_there_is_one() -> None:
    class Accounting(SlurmDouble):
        def ask(self, *arguments: str) -> str:
            if arguments[0] == "sacctmgr":
                return "normal|0\nhigh|50\n"
            if arguments[0] == "sshare":
                return "root||1.000000\nlab||0.5\n lab|ann|0.25\n"
            return super().ask(*arguments)

    slurm = Accounting({"a": 4})
    slurm.settings |= {
        "AccountingStorageType": "accounting_storage/slurmdbd", "PriorityType": "priority/multifactor",
        "PriorityWeightQOS": "1000", "PriorityWeightFairShare": "1000",
    }  # fmt: skip
    found = read_priorities(slurm, read_site(slurm))
    assert found.qos == {"normal": 0, "high": 50}
    assert found.fairshare == {("lab", "ann"): 0.25}
    assert found.weights == {"qos": 1000, "fairshare": 1000, "partition": 0}
