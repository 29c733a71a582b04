"""`ringsched topology`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ringsched.analysis.check import LinkLevel, check
from ringsched.cli.check import link_line
from ringsched.cli.command import Command, option
from ringsched.cli.files import options_for_arguments
from ringsched.cli.options import FILE, json_option, names_in, output_option
from ringsched.cli.progress import Working
from ringsched.cli.values import RATIOS, SPEEDS, Name
from ringsched.errors import InputError
from ringsched.formats.files import check_writable
from ringsched.formats.scenario_text import cluster_lines, save_cluster
from ringsched.formats.topologies.formats import FORMATS
from ringsched.formatting import counted
from ringsched.importing import ImportedTopology, import_topology
from ringsched.model import Cluster, Scenario


@click.command("topology", cls=Command)
@click.argument("format", metavar="FORMAT", type=Name("format", FORMATS, check=True))
@click.argument("file", metavar="FILE", type=FILE)
@output_option("Write the cluster here instead of printing it: a scenario without jobs, .toml or .json.")
@option(
    "--gbps",
    metavar="X,...",
    type=SPEEDS,
    stated="100 for servers",
    help="Link speeds from the servers up, such as 25,100,400 or 4x100,400.",
)
@option(
    "--oversubscription",
    metavar="X:X:...",
    type=RATIOS,
    stated="1",
    help="What the links below a switch can send over what its uplink can, from the lowest level up.",
)
@option(
    "--gpus-per-server",
    metavar="N",
    type=int,
    stated="8",
    help="GPUs of servers of which the file has none.",
)
@option("--nodes", metavar="LIST", help="Only these servers, such as gpu[01-64].")
@option("--levels", metavar="A,B,...", help="kubernetes: labels of the levels. csv: columns of the levels.")
@option("--topology", metavar="NAME", help="slurm-yaml: a topology other than the cluster's default.")
@json_option("Print the summary as JSON.")
def topology_command(
    format: str, file: Path, output: Path | None, levels: str | None, as_json: bool, **options: Any
) -> None:
    """Make a cluster from a topology file.

    FORMAT is slurm (topology.conf), slurm-yaml (topology.yaml), topograph (models and output), kubernetes
    (kubectl get nodes -o json) or csv (host,leaf,spine,...). Reports every assumption about what the file
    does not define.
    """
    if output is not None:
        check_writable(output)
        if output.exists() and file.exists() and output.samefile(file):
            raise InputError("is the topology itself; write to another file", file=str(output))
    with Working(f"reading {file}"), options_for_arguments():
        names = None if levels is None else names_in(levels)
        found = import_topology(file, format, levels=names, **options)
    links = check(Scenario(cluster=found.cluster, jobs=())).links
    if output is None:
        sys.stdout.writelines(cluster_lines(found.cluster, file.stem))
        sys.stdout.flush()
    else:
        comments = [
            f"From {file.name}, format {format}.",
            *(f"Assumed: {each}" for each in found.assumptions),
        ]
        save_cluster(found.cluster, output, name=file.stem, comments=comments)
    said = _json(found, links, output) if as_json else "\n".join(_lines(found, links, output))
    click.echo(said, err=output is None)  # stdout is taken where it holds the cluster


def _json(found: ImportedTopology, links: tuple[LinkLevel, ...], output: Path | None) -> str:
    cluster = found.cluster
    content = {
        "num_servers": len(cluster.servers),
        "num_gpus": cluster.capacity,
        "num_switches": len(cluster.switches),
        "num_levels": _num_levels(cluster),
        "links": [asdict(link) for link in links],
        "assumptions": list(found.assumptions),
    }
    where = {} if output is None else {"output": str(output)}
    return json.dumps(content | where, indent=1, ensure_ascii=False)


def _lines(found: ImportedTopology, links: tuple[LinkLevel, ...], output: Path | None) -> list[str]:
    cluster = found.cluster
    servers = " with ".join(cluster.in_short)
    num_switches, num_levels = len(cluster.switches), _num_levels(cluster)
    switches = f"{num_switches} switch{'' if num_switches == 1 else 'es'}"
    switches += f" in {counted(num_levels, 'level')}" if num_levels else ""
    written = [] if output is None else [f"cluster written to {output}"]
    return [
        f"cluster     {servers}, {switches}",
        *map(link_line, links),
        *(f"assumed     {each}" for each in found.assumptions),
        *written,
    ]


def _num_levels(cluster: Cluster) -> int:
    return max(cluster.switch_levels.values(), default=0)
