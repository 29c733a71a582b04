"""The `ringsched` command and how it ends."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import Any

import click

from ringsched._version import __version__
from ringsched.cli.interrupts import WORDS, answered, listen
from ringsched.errors import RingschedError

ENDED_BY_SIGNAL = 128  # and its number, as shells count

# What `--help` says of each command; the command itself is loaded when it is asked for.
COMMANDS = {
    "plan": "Decide which GPUs each job gets and when it starts.",
    "simulate": "Run a queue over time: jobs become known as they arrive.",
    "verify": "Check a plan independently of what made it.",
    "explain": "Say who slows whom, by how much and on which link.",
    "whatif": "Say what one more job, other servers or other links would change.",
    "report": "Draw plans: who runs where and when, who slows whom, how far from the best.",
    "compare": "Compare policies over scenarios and seeds, in pairs.",
    "policies": "List the policies: queue order, placement rule, search.",
    "generate": "Make a workload: a scenario out of a seed.",
    "import": "Make a scenario of a trace of a real cluster.",
    "ring": "Run ring all-reduce step by step on real vectors.",
    "slurm": "Plan the queue of a Slurm cluster, and carry the plan out.",
    "calibrate": "Measure contention on real rings and fit the model to it.",
    "serve": "Open the lab: a page in the browser, and an HTTP API, to plan and look at plans.",
    "paper": "Reproduce the paper's figures and judge its claims.",
}
# Where a command's name cannot be that of its module: `import` is a word of Python.
MODULES = {"import": "import_trace"}


class Ringsched(click.Group):
    """A group that loads its commands late, and turns our errors into one sentence and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command, loaded now."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"ringsched.cli.{MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; wrong input ends with 2, "no" with 1, Ctrl-C with 130, SIGTERM with 143."""
        try:
            return super().invoke(ctx)
        except (Exception, KeyboardInterrupt) as error:
            # After a signal any error may be its work, such as that of a worker that was ended by it too.
            number = answered() or (signal.SIGINT if isinstance(error, KeyboardInterrupt) else None)
            if number is not None:
                click.echo(f"ringsched: {WORDS[number]}", err=True)
                ctx.exit(ENDED_BY_SIGNAL + number)
            if not isinstance(error, RingschedError):
                raise
            click.echo(f"ringsched: {error}", err=True)
            ctx.exit(error.exit_code)


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


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    listen()
    for stream in (sys.stdout, sys.stderr):  # names of jobs may be beyond what the terminal can show
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        ringsched(arguments)
    except OSError as error:  # our own files raise an InputError: this is standard output, on a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left goes nowhere
        click.echo(f"ringsched: standard output cannot be written: {error.strerror}", err=True)
        sys.exit(RingschedError.exit_code)
