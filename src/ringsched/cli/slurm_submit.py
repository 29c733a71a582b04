"""`ringsched slurm submit`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ringsched.cli.slurm_options import commands_of, network_of, partition_of, snapshot_now, with_cluster
from ringsched.errors import InputError
from ringsched.words.figures import seconds


@click.command("submit", context_settings={"allow_interspersed_args": False})
@click.argument("script", metavar="SCRIPT", type=click.Path(path_type=Path))
@click.argument("arguments", metavar="[ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--gpus", metavar="N", type=int, required=True, help="GPUs, one task on each.")
@click.option("--iterations", metavar="N", type=int, required=True, help="Iterations of the training.")
@click.option("--model", metavar="NAME", help="Of the catalogue; else the next four.")
@click.option("--gradient-mb", metavar="X", type=float, help="Size of the gradients.")
@click.option("--minibatch", metavar="N", type=int, help="Samples per GPU and iteration.")
@click.option("--forward-ms", metavar="X", type=float, help="Forward pass per sample.")
@click.option("--backward-ms", metavar="X", type=float, help="Backward pass per iteration.")
@click.option("--weight", metavar="X", type=float, help="In weighted objectives.")
@click.option("--server-slack", metavar="X", type=float, help="Lambda, for policies that use it.")
@click.option("--estimate", "estimate_s", metavar="S", type=float, help="How long you think it takes.")
@click.option("--sbatch", "options", metavar="OPTION", multiple=True, help="One more option for sbatch.")
@click.option("--no-prediction", is_flag=True, help="Do not plan; print the job id only.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@with_cluster
def submit_command(
    script: Path,
    arguments: tuple[str, ...],
    options: tuple[str, ...],
    no_prediction: bool,
    as_json: bool,
    partition: str | None,
    network: Path | None,
    command_timeout: float,
    **fields: Any,
) -> None:
    """Submit a training job, to be started by the plan.

    A thin wrapper of `sbatch --hold`: prints the job's id, and when and where it would run by a plan of now.
    What follows SCRIPT is passed on to it word by word.
    """
    from ringsched.slurm.planning import Planner
    from ringsched.slurm.submit import Prediction, predict, submit, tidy

    commands, speeds = commands_of(command_timeout), network_of(network)
    name = partition_of(commands, partition)
    stated = {key: value for key, value in fields.items() if value is not None}
    try:
        job_id = submit(commands, stated, script, arguments, partition=name, options=options)
    except InputError as error:
        if error.place != "comment" or error.field is None:
            raise
        option = error.field.removesuffix("_s").replace("_", "-")
        raise InputError(error.problem, field=f"--{option}") from None
    if not as_json:
        click.echo(f"submitted job {job_id}")
    prediction: Prediction | str = ""
    if not no_prediction:
        snapshot = snapshot_now(commands, name, speeds)
        prediction = predict(snapshot, Planner(), job_id)
        tidy(snapshot)
    if as_json:
        said = {"reason": prediction} if isinstance(prediction, str) else asdict(prediction)
        click.echo(json.dumps({"id": job_id} | ({} if no_prediction else said)))
    elif isinstance(prediction, Prediction):
        where = " ".join(f"{server}:{count}" for server, count in prediction.servers.items())
        click.echo(
            f"predicted: starts in {seconds(prediction.start_s)}, ends in {seconds(prediction.finish_s)}, "
            f"on {where}"
        )
    elif prediction:
        click.echo(f"not planned: {prediction}")
