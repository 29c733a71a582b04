"""The `ringsched` command and how it ends."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from ringsched._version import __version__
from ringsched.cli.compare import compare_command
from ringsched.cli.generate import generate_command
from ringsched.cli.plan import plan_command
from ringsched.cli.policies import policies_command
from ringsched.cli.verify import verify_command
from ringsched.errors import RingschedError

INTERRUPTED = 130


class Ringsched(click.Group):
    """A group that turns our errors into one sentence and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; wrong input ends with 2, "no" with 1, Ctrl-C with 130."""
        try:
            return super().invoke(ctx)
        except RingschedError as error:
            click.echo(f"ringsched: {error}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("ringsched: interrupted", err=True)
            ctx.exit(INTERRUPTED)


@click.group(
    cls=Ringsched,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 fine, 1 the answer is no (invalid, infeasible), 2 wrong input.",
)
@click.version_option(__version__, prog_name="ringsched")
def ringsched() -> None:
    """Plan ring-all-reduce training jobs on a shared GPU cluster.

    Jobs that span servers slow each other down on the links they share. ringsched decides which GPUs
    each job gets and when it starts, and says how far from the best possible that is.
    """


for command in (plan_command, verify_command, compare_command, policies_command, generate_command):
    ringsched.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):  # names of jobs may be beyond what the terminal can show
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        ringsched(arguments)
    except OSError as error:  # our own files raise an InputError: this is standard output, on a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left goes nowhere
        click.echo(f"ringsched: standard output cannot be written: {error.strerror}", err=True)
        sys.exit(RingschedError.exit_code)
