"""Reading Slurm, whatever its version and its users write."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import examples
from tests.slurm_double import SlurmDouble

from ringsched.clusters.network import Network, load_network
from ringsched.clusters.slurm.comments import Note, comment_of, is_ours, note_text, parse_comment, parse_note
from ringsched.clusters.slurm.jobs import read_jobs
from ringsched.clusters.slurm.nodes import read_nodes
from ringsched.clusters.slurm.snapshot import read_slurm, snapshot_of
from ringsched.clusters.slurm.values import expand, gpu_count, gpu_indices
from ringsched.errors import AdapterError, InputError
from ringsched.model import Server

FIELDS: dict[str, Any] = {"gpus": 2, "iterations": 10, "model": "resnet50"}


@pytest.mark.parametrize("text", ["n[1-", "n[a-b]", "n[1-2]]x[", "n[,]", "n[3-1]"])
def test_lists_of_nodes_that_cannot_be_read(text: str) -> None:
    with pytest.raises(AdapterError):
        expand(text)


def _range(first: int, more: int, width: int) -> str:
    return f"{first:0{width}d}" + (f"-{first + more:0{width}d}" if more else "")


# In any order and width, the same twice too; Slurm wants nothing after the last range.
RANGES = st.builds(_range, st.integers(0, 120), st.integers(0, 12), st.integers(1, 4))
BRACKETS = st.lists(RANGES, min_size=1, max_size=3).map(lambda ranges: f"[{','.join(ranges)}]")
PREFIXES = st.sampled_from(["n", "gpu-", "a1b", "r@x"])
NAMES = st.one_of(
    PREFIXES,
    st.tuples(PREFIXES, BRACKETS).map("".join),
    st.tuples(PREFIXES, BRACKETS, st.sampled_from(["", "n"]), BRACKETS).map("".join),
)


@pytest.mark.slurm
@given(text=st.lists(NAMES, min_size=1, max_size=20).map(",".join))
@examples(20)
def test_lists_of_nodes_are_read_as_slurm_reads_them(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    config = tmp_path_factory.getbasetemp() / "hostnames.conf"
    config.write_text("ClusterName=x\nSlurmctldHost=localhost\nNodeName=n1\nPartitionName=p Nodes=ALL\n")
    told = subprocess.run(
        ["scontrol", "show", "hostnames", text],
        env=os.environ | {"SLURM_CONF": str(config)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert expand(text) == told.stdout.split()


def test_gpus_of_several_types() -> None:
    assert gpu_count("gpu:a100:4(S:0-1),gpu:v100:2,shard:8") == 6
    assert gpu_indices("gpu:a100:2(IDX:0,3),gpu:v100:1(IDX:5)") == (0, 3, 5)
    with pytest.raises(AdapterError):
        gpu_indices("gpu:2(CNT:2)")


class Printed:
    """Commands that print what they are told to."""

    def __init__(self, **printed: object) -> None:
        self._printed = printed

    def ask(self, *arguments: str, **_: object) -> str:
        printed = self._printed[arguments[0]]
        return printed if isinstance(printed, str) and arguments[0] == "scontrol" else json.dumps(printed)

    def tell(self, *_: object, **__: object) -> str:
        raise AssertionError


def test_json_of_newer_versions() -> None:
    """Since 23.02 numbers are tables and states lists."""

    def number(value: int) -> dict[str, object]:
        return {"set": True, "infinite": False, "number": value}

    job = {
        "job_id": 7, "het_job_id": number(0), "job_state": ["RUNNING"], "priority": number(5), "user_id": 3,
        "group_id": 3,
        "tasks": number(2), "start_time": number(100), "end_time": {"infinite": True, "set": True},
        "nodes": "n[1-2]", "gres_detail": ["gpu:1(IDX:3)", "gpu:1(IDX:0)"], "comment": "",
    }  # fmt: skip
    node = {
        "name": "n1",
        "gres": "gpu:4",
        "gres_used": "gpu:1",
        "state": ["MIXED", "DRAIN"],
        "partitions": ["gpu"],
    }
    commands = Printed(squeue={"jobs": [job], "errors": []}, sinfo={"nodes": [node], "errors": []})
    (read,) = read_jobs(commands)
    assert (read.id, read.holding, read.start_s, read.end_s) == ("7", True, 100, 0)
    assert read.placement == {"n1": (3,), "n2": (0,)}
    (found,) = read_nodes(commands, ["gpu"])
    assert (found.usable, found.state, found.used) == (False, "MIXED+DRAIN", 1)


@pytest.mark.parametrize(
    "printed", [{}, {"jobs": None}, {"jobs": [3]}, {"jobs": [], "errors": ["broken"]}, []]
)
def test_json_that_is_not_what_it_should_be(printed: object) -> None:
    with pytest.raises(AdapterError):
        read_jobs(Printed(squeue=printed))


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        ("ringsched", "comment is not valid JSON"),
        ('["ringsched"]', "comment must be an object such as"),
        ('{"ringsched": 3}', "comment must be an object such as"),
        ('{"ringsched": {"gpus": 1, "gpus": 2}}', "is given twice"),
        (comment_of(FIELDS | {"name": "x"}), "unknown key 'name'"),
        (comment_of(FIELDS | {"running_on": {}}), "unknown key 'running_on'"),
        (comment_of(FIELDS | {"model": "resnet"}), "did you mean"),
        (comment_of(FIELDS | {"origin": 7}), "unknown key 'origin'"),
        ('{"ringsched": {"gpus": 1e999}}', "gpus"),
        ('{"ringsched": {"gpus": NaN}}', "gpus"),
        ("[" * 3000 + "ringsched", "comment is not valid JSON"),
    ],
)
def test_comments_that_are_not_valid(comment: str, problem: str) -> None:
    assert is_ours(comment)
    with pytest.raises(InputError) as caught:
        parse_comment(comment, "7")
    assert problem in str(caught.value) or "is missing" in str(caught.value)
    assert len(str(caught.value)) < 300


@examples(200)
@given(st.text() | st.recursive(st.none() | st.floats() | st.text(), lambda inner: st.lists(inner)).map(str))
def test_any_comment_leaves_a_job_held_or_planned(text: str) -> None:
    slurm = SlurmDouble({"a": 4})
    slurm.add(f"ringsched{text}", tasks=1)
    slurm.add(json.dumps({"ringsched": {"gpus": text}}), tasks=1)
    found = snapshot_of(read_slurm(slurm, ["gpu"], slurm.now_s), Network())
    assert set(found.left) == {"job-1", "job-2"}


def test_a_comment_too_long_for_slurm() -> None:
    with pytest.raises(InputError, match="at most 600 are allowed"):
        comment_of(FIELDS | {"model": "x" * 1024})


@pytest.mark.parametrize(
    "text", ['{"ringsched_note": {"servers": {"a": "x"}, "released_s": true}}', "[]", "x"]
)
def test_notes_that_cannot_be_read(text: str) -> None:
    assert parse_note(text) == Note()
    assert parse_note(note_text(Note(released_s=3), text)).released_s == 3


def test_the_network_file(tmp_path: Any) -> None:
    path = tmp_path / "network.toml"
    path.write_text(
        '[cluster]\nrack_uplink_gbps = 40\n[cluster.racks."r 1"]\nuplink_gbps = 80\n[time]\nslot_s = 5\n'
    )
    network = load_network(path)
    assert (network.switches, network.time.model) == ({"r 1": 80.0}, "continuous")
    for wrong in (
        "[cluster]\nracks = 3",
        "[cluster]\nrack_uplink_gbps = 3\nswitch_uplink_gbps = 3",
        "[cluster.racks.a]\nuplink_gbps = 3\n[cluster.switches.a]\nuplink_gbps = 3",
        "[cluster]\ninter_server_gbps = 0",
        "[link]",
        "[cluster.servers.a]",
    ):
        path.write_text(wrong)
        with pytest.raises(InputError, match="network"):
            load_network(path)


def test_uplinks_of_switches_follow_from_what_is_right_below() -> None:
    """A quarter of it, at least the fastest; unless the file says otherwise."""
    servers = [Server(name=f"s{at}", gpus=8, switch=f"r{at // 8}") for at in range(40)]
    parent_of = {"r0": "left", "r1": "left", "r2": "right"}
    network = Network(inter_server_gbps=10, switches={"r1": 100})
    switches = {switch.name: switch for switch in network.cluster(servers, parent_of).switches}
    found = {name: (switch.uplink_gbps, switch.parent) for name, switch in switches.items()}
    assert found == {
        "r0": (20, "left"),  # 8 servers of 10
        "r1": (100, "left"),
        "r2": (20, "right"),
        "r3": (20, None),
        "r4": (20, None),
        "left": (100, None),  # 20 + 100 over 4, but one below has 100
        "right": (20, None),
    }
    alike = Network(switch_uplink_gbps=7).cluster(servers, parent_of)
    assert {switch.uplink_gbps for switch in alike.switches} == {7}


RUNNING = {"job_state": "RUNNING", "priority": 1, "nodes": "a", "gres_detail": ["gpu:2(IDX:0-1)"]}


def test_a_snapshot_with_everything() -> None:
    """A drained node, a job of someone else, one that ends unseen, one released, one held by an operator."""
    slurm = SlurmDouble({"a": 4, "b": 4, "c": 2})
    slurm.states["c"] = ("idle", ["DRAIN"])
    now = int(slurm.now_s)
    slurm.add("", tasks=2, **RUNNING | {"end_time": now + 50})
    slurm.add(FIELDS, tasks=2, priority=1, note=Note(servers={"b": 2}, released_s=now))
    slurm.add(FIELDS, tasks=2, state_reason="JobHeldAdmin")
    slurm.add(FIELDS, tasks=2, eligible_time=now + 30)
    slurm.add(FIELDS, tasks=2, dependency="afterok:9(unfulfilled)")
    slurm.add(FIELDS, tasks=2, het_job_id=6)
    slurm.add(FIELDS, tasks=2, het_job_id=6, het_job_offset=1)
    slurm.add(FIELDS, tasks=2, priority=1)
    slurm.add(FIELDS, tasks=3)
    slurm.add(FIELDS, tasks=2, state_reason="JobHoldMaxRequeue")
    snapshot = snapshot_of(read_slurm(slurm, ["gpu"], slurm.now_s), Network())
    assert [server.capacity for server in snapshot.scenario.cluster.servers] == [4, 4, 0]
    jobs = {job.name: job for job in snapshot.scenario.jobs}
    assert dict(jobs["job-1"].running_on or {}) == {"a": (0, 1)}
    assert jobs["job-1"].compute_s == 50
    assert dict(jobs["job-2"].running_on or {}) == {"b": (0, 1)}
    assert jobs["job-4"].submit_s == 30
    assert list(snapshot.queued) == ["job-4"]
    assert snapshot.left == {
        "job-3": "is held by an operator",
        "job-5": "waits for afterok:9(unfulfilled)",
        "job-6": "is a heterogeneous job; submit it as one job with --gpus",
        "job-7": "is a heterogeneous job; submit it as one job with --gpus",
        "job-8": "was released by its owner; Slurm places it",
        "job-9": "asks for 3 GPUs, but its comment has 2",
        "job-10": "is held by Slurm: JobHoldMaxRequeue",
    }


def test_gpus_that_a_job_does_not_name_are_not_given_away() -> None:
    """As without `File=` in gres.conf: the node says how many are used, nobody says which."""
    slurm = SlurmDouble({"a": 4})
    slurm.add("", tasks=2, **RUNNING | {"gres_detail": ["gpu:2(IDX:0-1)"], "end_time": 9})
    printed = {
        "squeue": json.loads(slurm.ask("squeue")), "sinfo": json.loads(slurm.ask("sinfo", "--json")),
        "scontrol": "PartitionName=gpu State=UP Nodes=a",
    }  # fmt: skip
    printed["squeue"]["jobs"][0]["gres_detail"] = ["gpu:2(CNT:2)"]
    snapshot = snapshot_of(read_slurm(Printed(**printed), ["gpu"], slurm.now_s), Network())
    assert [job.gpus for job in snapshot.scenario.jobs] == [2]
