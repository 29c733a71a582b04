"""`ringsched slurm`."""

from __future__ import annotations

from typing import Any

import click

from ringsched.cli.slurm_local import local_command
from ringsched.cli.slurm_look import cluster_command, status_command
from ringsched.cli.slurm_run import run_command
from ringsched.cli.slurm_submit import submit_command


@click.group("slurm")
def slurm_command() -> None:
    """Plan the queue of a Slurm cluster, and carry the plan out.

    Users' jobs are held Slurm jobs that carry their model in a comment; the controller gives each its exact
    placement and releases it when its GPUs are free. Slurm is the database: nothing else is kept.
    """


_commands: tuple[Any, ...] = (cluster_command, submit_command, run_command, status_command, local_command)
for _command in _commands:
    slurm_command.add_command(_command)
