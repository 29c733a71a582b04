"""Topology files: what each format is read as, with its dirt, and what is refused."""

# ruff: noqa: E501  one mistake a line
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import examples

from ringsched.analysis.check import check
from ringsched.contention.network import CORE, network_of
from ringsched.errors import InputError
from ringsched.formats.host_lists import expand
from ringsched.formats.scenario import load_scenario
from ringsched.formats.scenario_text import save_cluster
from ringsched.formats.topologies.formats import read_topology
from ringsched.formats.topologies.slurm_conf import topology_in
from ringsched.formats.topologies.topology import Topology
from ringsched.importing import import_topology
from ringsched.model import Scenario

FILES = Path(__file__).parents[1] / "topologies"


def paths(topology: Topology) -> dict[str, list[str]]:
    return {server: topology.path(server) for server in topology.switch_of}


def test_slurm_tree() -> None:
    topology = read_topology(FILES / "tree.conf", "slurm")
    found = paths(topology)
    assert list(found) == [f"gpu{at:03}" for at in (1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12)]
    assert found["gpu004"] == ["leaf01", "spine1", "core"]
    assert found["gpu008"] == ["leaf02", "spine1", "core"]
    assert found["gpu012"] == ["leaf03", "spine2", "core"]
    assert topology.assumptions == (
        "LinkSpeed is ignored: it has no unit",
        "switch spare: left out, no server is below",
    )
    # No job crosses an uplink of what is above all servers.
    assert topology.above(list(topology.switch_of)).path("gpu001") == ["leaf01", "spine1"]
    assert topology.above(["gpu001", "gpu005"]).path("gpu001") == ["leaf01"]
    assert topology.above(["gpu001", "gpu002"]).path("gpu001") == []


def test_slurm_blocks() -> None:
    topology = read_topology(FILES / "block.conf", "slurm")
    assert paths(topology)["node05"] == ["b2"]
    assert "not switches" in topology.assumptions[0]


def test_slurm_yaml() -> None:
    topology = read_topology(FILES / "topology.yaml", "slurm-yaml")
    assert paths(topology) == {
        "n01": ["s1", "sw_root"], "n02": ["s1", "sw_root"], "n03": ["s2", "sw_root"], "n04": ["s2", "sw_root"],
    }  # fmt: skip
    assert topology.assumptions == (
        "3 topologies: switches is taken, the cluster's default; --topology takes another",
    )
    blocks = read_topology(FILES / "topology.yaml", "slurm-yaml", topology="blocks")
    assert paths(blocks)["n04"] == ["b2"]


def test_topograph_model() -> None:
    topology = read_topology(FILES / "model.yaml", "topograph")
    assert paths(topology) == {
        "n1": ["leaf-1", "spine-1", "core"],
        "n2": ["leaf-1", "spine-1", "core"],
        "n3": ["leaf-2", "spine-1", "core"],
        "n5": ["leaf-3", "spine-2", "core"],
        "n6": ["leaf-3", "spine-2", "core"],
        "n4": [],
    }
    assert topology.assumptions[0] == "1 server below no switch: connected to the core"
    assert "NVLink" in topology.assumptions[1]


def test_topograph_model_of_the_older_form() -> None:
    topology = read_topology(FILES / "old-model.yaml", "topograph")
    assert paths(topology) == {
        "n1-1": ["left", "top"], "n1-2": ["left", "top"], "n2-1": ["right", "top"],
    }  # fmt: skip


def test_topograph_output() -> None:
    topology = read_topology(FILES / "graph.json", "topograph")
    assert paths(topology) == {
        "i-1": ["leaf-a", "spine-a"], "i-2": ["leaf-a", "spine-a"], "i-3": ["leaf-b", "spine-b"], "i-4": [],
    }  # fmt: skip
    for name, kind in (("tree.conf", "slurm"), ("topology.yaml", "slurm-yaml")):  # what its engines write
        assert paths(read_topology(FILES / name, "topograph")) == paths(read_topology(FILES / name, kind))


@pytest.mark.parametrize("levels", [["topology.kubernetes.io/zone", "rack"]])
def test_kubernetes(levels: list[str]) -> None:
    topology = read_topology(FILES / "nodes.json", "kubernetes", levels=levels)
    assert paths(topology) == {
        "w1": ["a/1", "a"], "w2": ["a/1", "a"], "w3": ["2", "a"], "w4": ["b/1", "b"], "w5": ["b"],
    }  # fmt: skip
    assert topology.gpus == {"w1": 8, "w2": 8, "w3": 4, "w4": 8, "w5": 8}
    assert topology.assumptions == (
        "levels from the servers up: rack, topology.kubernetes.io/zone",
        "1 of 5 nodes have no label rack: connected to the level above",
        "the same name at several places, such as 1, means different switches",
        "1 of 6 nodes left out: no nvidia.com/gpu",
    )


def test_lingjun() -> None:
    """A leaf below several spines makes them one: a tree has one way up."""
    topology = read_topology(FILES / "lingjun.csv", "csv")
    assert paths(topology) == {
        "10.0.0.1": ["asw-1", "psw-1+psw-2", "dsw-1"],
        "10.0.0.2": ["asw-1", "psw-1+psw-2", "dsw-1"],
        "10.0.0.3": ["asw-2", "psw-1+psw-2", "dsw-1"],
        "10.0.0.4": ["asw-3", "psw-3", "dsw-1"],
        "10.0.0.5": ["asw-4", "psw-4", "dsw-2"],
        "10.0.0.6": ["asw-4", "psw-4", "dsw-2"],
    }
    assert topology.parallel == {"psw-1+psw-2": 2}
    assert topology.assumptions[0] == "servers are in column ip; levels from the servers up: ASW, PSW, DSW"
    assert topology.assumptions[1].startswith(
        "2 switches of level PSW are merged into 1, such as psw-1+psw-2"
    )
    cluster = import_topology(FILES / "lingjun.csv", "csv", gbps=[100, 400, 800, 1600]).cluster
    uplinks = {switch.name: switch.uplink_gbps for switch in cluster.switches}
    assert uplinks["psw-1+psw-2"] == 1600
    assert uplinks["psw-3"] == 800


def test_a_table_of_hosts() -> None:
    topology = read_topology(FILES / "hosts.csv", "csv")
    assert paths(topology) == {
        "gpu1": ["l1", "s1+s2"], "gpu2": ["l1", "s1+s2"], "gpu3": ["l2", "s1+s2"],
        "gpu4": ["s3"], "gpu5": ["l3", "s3"],
    }  # fmt: skip
    assert topology.gpus == {"gpu1": 8, "gpu2": 8, "gpu3": 8, "gpu4": 4}


MISTAKES: Mapping[str, tuple[str, str, str]] = {
    "a second leaf": ("slurm", "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n3\n", "line 2: server 'n3' is below switch 'a' already (line 1)"),
    "a second parent": ("slurm", "SwitchName=a Nodes=n1\nSwitchName=b Switches=a\nSwitchName=c Switches=a\n", "line 3: switch 'a' is below switch 'b' already (line 2)"),
    "defined twice": ("slurm", "SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", "line 2: switch 'a' is defined already (line 1)"),
    "an unknown switch": ("slurm", "SwitchName=leaf Nodes=n1\nSwitchName=b Switches=laef\n", "line 2: unknown switch 'laef' (did you mean 'leaf'?)"),
    "a cycle": ("slurm", "SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Switches=a\n", "leads back to itself; the network must be a tree"),
    "an unknown key": ("slurm", "\nSwitchName=a Node=n1\n", "line 2: unknown key 'Node' (did you mean 'Nodes'?)"),
    "another file": ("slurm", "NodeName=n1 Gres=gpu:8\n", "line 1: unknown key 'NodeName'; a line begins with SwitchName, BlockName, BlockSizes"),
    "no value": ("slurm", "SwitchName=a Nodes\n", "line 1: 'Nodes' is not written as KEY=VALUE"),
    "a wrong range": ("slurm", "SwitchName=a Nodes=n[4-1]\n", "line 1: Nodes has the range '4-1'"),
    "an open bracket": ("slurm", "SwitchName=a Nodes=n[1-4\n", "line 1: Nodes is not a list of hosts such as"),
    "too many": ("slurm", "SwitchName=a Nodes=n[1-9999999]\n", "line 1: Nodes names more than 1000000 hosts"),
    "all nodes": ("slurm", "SwitchName=a Nodes=ALL\n", "line 1: Nodes = ALL has to be written as a list"),
    "both kinds": ("slurm", "SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n", "line 2: switches and blocks are mixed"),
    "no servers": ("slurm", "SwitchName=a\n", "names no servers"),
    "empty": ("slurm", "\n", "is empty"),
    "no YAML": ("slurm-yaml", "- topology: [\n", "line 2: is not valid YAML"),
    "a flat one": ("slurm-yaml", "- topology: t\n  flat: true\n", "line 1: topology 't' is flat: it names no nodes"),
    "an unknown kind": ("slurm-yaml", "- topology: t\n  tre: {}\n", "line 1: unknown key 'tre' (did you mean 'tree'?)"),
    "no list": ("slurm-yaml", "- topology: t\n  tree:\n    switches: x\n", "line 1: switches must be a list, not 'x'"),
    "a switch without a name": ("slurm-yaml", "- topology: t\n  tree:\n    switches:\n    - nodes: n1\n", "line 4: switch is missing"),
    "an unknown field": ("slurm-yaml", "- topology: t\n  tree:\n    switches:\n    - {switch: a, node: n1}\n", "line 4: unknown key 'node' (did you mean 'nodes'?)"),
    "a key twice": ("slurm-yaml", "- topology: t\n  tree: {}\n  tree: {}\n", "line 3: key 'tree' is given twice"),
    "no model": ("topograph", "hosts: [a]\n", "is no file of topograph"),
    "an unknown block": ("topograph", "switches:\n- name: a\n  capacity_blocks: [x]\n", "line 2: names the unknown capacity block 'x'"),
    "no instance": ("topograph", '{"instances": [{"network_layers": []}]}', "instances[0]: id is missing"),
    "no levels": ("kubernetes", '{"items": [{"metadata": {"name": "a", "labels": {"x/rack": "1", "y": "2"}}}]}', "needs the labels of the levels, such as --levels rack,zone; labels that may tell: x/rack"),
    "pods": ("kubernetes", '{"items": [{"kind": "Pod", "metadata": {"name": "a"}}]}', "items[0]: kind is a Pod, not a Node"),
    "broken JSON": ("kubernetes", '{"items": [', "is not valid JSON"),
    "a short row": ("csv", "host,leaf\na,b\nc\n", "line 3: has 1 cells, but the header has 2"),
    "no rows": ("csv", "host,leaf\n", "must have a header and a row for each server"),
    "no host": ("csv", "host,leaf\n,b\n", "line 2: host is empty"),
    "bad GPUs": ("csv", "host,leaf,gpus\na,b,many\n", "line 2: gpus must be a number of GPUs, not 'many'"),
    "other GPUs": ("csv", "host,leaf,gpus\na,b,4\na,b,8\n", "line 3: gpus = 8 differs from 4"),
    "no header": ("csv", "n1,l1\nn2,l1\n", "line 1: is a row, not a header: 'l1' is also below; add a line such as host,leaf,spine"),
    "a column twice": ("csv", "host,leaf,leaf\na,b,c\n", "line 1: has the column 'leaf' twice"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake: str, tmp_path: Path) -> None:
    kind, text, said = MISTAKES[mistake]
    file = tmp_path / "file"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_topology(file, kind)
    assert str(error.value).startswith(f"{file}")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_wrong_options(tmp_path: Path) -> None:
    conf = FILES / "tree.conf"
    for said, options in {
        "topology names the unknown topology 'x'": {"topology": "x"},
        "levels is only allowed with the format kubernetes or csv": {"levels": ["a"]},
    }.items():
        with pytest.raises(InputError) as error:
            read_topology(FILES / "topology.yaml", "slurm-yaml", **options)
        assert str(error.value).startswith(said)
    for said, settings in {
        "nodes names the unknown server 'gpu999'": {"nodes": "gpu[001,999]"},
        "gbps has 4 speeds, but the network has links of servers and 2 levels": {"gbps": [1, 2, 3, 4]},
        "oversubscription has 3 ratios": {"oversubscription": [1, 2, 3]},
        "oversubscription is only allowed if": {"gbps": [1, 2], "oversubscription": [2]},
        "gbps must be a number > 0, not -1": {"gbps": [-1]},
        "gpus_per_server must be an integer >= 1": {"gpus_per_server": 0},
    }.items():
        with pytest.raises(InputError) as error:
            import_topology(conf, "slurm", **settings)
        assert str(error.value).startswith(said)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, list[str]]:
    """Switches of up to four levels: the children of each, and of those of the lowest level, the nodes."""
    num_leaves, num_levels = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    children = {f"l1-{leaf}": draw(st.integers(1, 4)) for leaf in range(num_leaves)}
    first = 0
    listed: dict[str, list[str]] = {}
    for leaf, count in children.items():
        listed[leaf] = [f"n{first + at:03}" for at in range(count)]
        first += count
    below = list(listed)
    for level in range(2, num_levels + 1):
        above = [draw(st.integers(0, max(0, len(below) // 2))) for _ in below]
        groups: dict[str, list[str]] = {}
        for child, group in zip(below, above, strict=True):
            groups.setdefault(f"l{level}-{group}", []).append(child)
        listed |= groups
        below = list(groups)
    return listed


@given(tree=trees())
@examples(60)
def test_from_slurm_to_links_and_back(
    tree: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every pair of nodes meets in the network where it meets in the file."""
    lines = [
        f"SwitchName={name} {'Nodes' if name.startswith('l1-') else 'Switches'}={','.join(below)}"
        for name, below in tree.items()
    ]
    directory = tmp_path_factory.mktemp("topology")
    (directory / "topology.conf").write_text("\n".join(reversed(lines)))
    found = import_topology(directory / "topology.conf", "slurm")
    save_cluster(found.cluster, directory / "cluster.toml", comments=found.assumptions)
    cluster = load_scenario(directory / "cluster.toml").cluster
    assert cluster == found.cluster
    network = network_of(cluster)
    names = [server.name for server in cluster.servers] + [switch.name for switch in cluster.switches]
    parent_of = {child: parent for parent, below in tree.items() for child in below}

    def above(node: str) -> list[str]:
        return [node, *above(parent_of[node])] if node in parent_of else [node]

    common = set.intersection(*(set(above(server.name)) for server in cluster.servers))
    for at, server in enumerate(cluster.servers):
        expected = [node for node in above(server.name) if node not in common or node == server.name]
        assert [names[node] for node in network.path(at)] == expected
    assert sum(link.count for link in check(Scenario(cluster=cluster, jobs=())).links) == len(names)
    assert all(parent == CORE or parent >= network.num_servers for parent in network.parent_of)


@given(text=st.text(max_size=60))
@examples(100)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        topology_in(text)
        expand(text)
    except InputError:
        pass
