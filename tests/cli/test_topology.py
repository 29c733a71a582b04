"""`ringsched topology`: what it prints and writes, and which commands take it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.helpers import run, sentence

from ringsched.clusters.network import load_network
from ringsched.formats.scenario import load_scenario

FILES = Path(__file__).parents[1] / "topologies"


def test_a_cluster_that_other_commands_take(tmp_path: Path) -> None:
    cluster, plan = str(tmp_path / "cluster.toml"), str(tmp_path / "plan.json")
    made = run("topology", "slurm", str(FILES / "tree.conf"), "--gbps", "25,4x25,400", "-o", cluster)
    assert made.exit_code == 0, made.output
    assert made.output.splitlines()[:4] == [
        "cluster     11 servers with 88 GPUs, 5 switches in 2 levels",
        "links       11 uplinks of a server, 25 Gbit/s",
        "links       3 uplinks of a switch, 100 Gbit/s, oversubscription 1 : 1",
        "links       2 uplinks of a switch of level 2, 400 Gbit/s, oversubscription 0.5 : 1",
    ]
    assert "11 uplinks of a server" in run("check", cluster).output
    assert run("plan", cluster, "-o", plan).exit_code == 0
    assert json.loads(Path(plan).read_text())["jobs"] == []
    trace = str(FILES.parent / "traces" / "tiresias.csv")
    imported = run("import", "tiresias", trace, "--cluster", cluster, "-o", str(tmp_path / "jobs.json"))
    assert imported.exit_code == 0, imported.output
    assert "on 11 servers with 88 GPUs" in imported.output
    network = load_network(Path(cluster))
    assert (network.inter_server_gbps, network.switches["leaf01"], network.switches["spine2"]) == (
        25,
        100,
        400,
    )
    assert network.time.model == "continuous"


def test_json_and_toml_are_the_same_cluster(tmp_path: Path) -> None:
    clusters = []
    for name in ("cluster.toml", "cluster.json"):
        file = str(tmp_path / name)
        levels = ("--levels", "topology.kubernetes.io/zone,rack")
        made = run("topology", "kubernetes", str(FILES / "nodes.json"), *levels, "--json", "-o", file)
        summary = json.loads(made.output)
        assert (summary["num_servers"], summary["num_gpus"], summary["num_levels"]) == (5, 36, 2)
        clusters.append(load_scenario(file).cluster)
    assert clusters[0] == clusters[1]
    comments = [line for line in (tmp_path / "cluster.toml").read_text().splitlines() if line.startswith("#")]
    assert comments[0] == "# From nodes.json, format kubernetes."
    assert comments[1] == "# Assumed: levels from the servers up: rack, topology.kubernetes.io/zone"


def test_without_output_it_is_printed() -> None:
    made = run("topology", "csv", str(FILES / "hosts.csv"), "--levels", "leaf")
    assert json.loads(made.stdout)["cluster"]["servers"][0] == {"name": "gpu1", "gpus": 8, "rack": "l1"}
    assert "assumed     1 servers without a switch: connected to the core" in made.stderr


def test_errors_are_one_sentence_and_write_nothing(tmp_path: Path) -> None:
    output = tmp_path / "cluster.toml"
    file = str(FILES / "tree.conf")
    mistakes = {
        "missing.conf: there is no such file": ("slurm", "missing.conf"),
        "--gbps must be speeds in Gbit/s from the": ("slurm", file, "--gbps", "fast"),
        "--oversubscription must be numbers from the": ("slurm", file, "--oversubscription", "2;4"),
        "--levels is only allowed with the format k": ("slurm", file, "--levels", "leaf"),
        "--nodes is not a list of hosts": ("slurm", file, "--nodes", "gpu[1"),
        f"{file}: line 5: is not valid YAML": ("slurm-yaml", file),
        "--levels names the unknown column 'laef'": ("csv", str(FILES / "hosts.csv"), "--levels", "laef"),
    }
    for said, arguments in mistakes.items():
        result = run("topology", *arguments, "-o", str(output))
        assert result.exit_code == 2
        assert sentence(result).startswith(f"Error: {said}"), result.output
        assert not output.exists()
    assert "is the topology itself" in sentence(run("topology", "slurm", file, "-o", file))
