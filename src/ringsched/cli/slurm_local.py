"""`ringsched slurm local`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from ringsched.errors import InputError
from ringsched.model.checks import integer

MOST_NODES = 200


@click.command("local")
@click.option("--nodes", metavar="N", type=int, default=4, show_default=True, help="How many nodes.")
@click.option(
    "--gpus", metavar="A,B,...", default="8", show_default=True, help="Of each node, or one for all."
)
@click.option(
    "--racks", "switches", metavar="N", type=int, default=0, help="Spread the nodes over N switches."
)
@click.option(
    "--folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=Path("slurm-local"),
    show_default=True,
    help="Where all of it is kept.",
)
@click.option("--stop", is_flag=True, help="End the cluster, its jobs too, and remove the folder.")
def local_command(nodes: int, gpus: str, switches: int, folder: Path, stop: bool) -> None:
    """Start or stop a real Slurm with fake GPUs on this machine.

    For trying out: many nodes, one machine, no special rights. Needs slurm-wlm and munge.
    """
    from ringsched.slurm.local import LocalCluster

    cluster = LocalCluster(folder)
    if stop:
        if not folder.exists():
            raise InputError("there is no such folder", file=str(folder))
        cluster.stop()
        click.echo(f"stopped; {folder} is removed")
        return
    each = _gpus(gpus, nodes)
    integer(switches, "--racks", minimum=0, maximum=nodes)
    cluster.start(each, switches)
    click.echo(f"{len(each)} nodes with {sum(each)} GPUs are up; commands find them by")
    # Relative as it was given, so that the line can be shown and typed anywhere.
    before = "" if folder.is_absolute() else '"$PWD"/'
    click.echo(f"export SLURM_CONF={before}{shlex.quote(str(folder / 'etc' / 'slurm.conf'))}")


def _gpus(text: str, nodes: int) -> list[int]:
    integer(nodes, "--nodes", minimum=1, maximum=MOST_NODES)
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"must be numbers separated by commas, not {text!r}", field="--gpus") from None
    for count in counts:
        integer(count, "--gpus", minimum=1, maximum=128)
    if len(counts) not in (1, nodes):
        raise InputError(f"names {len(counts)} nodes, --nodes says {nodes}", field="--gpus")
    return counts * nodes if len(counts) == 1 else counts
