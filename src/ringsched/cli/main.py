"""The `ringsched` command and how it ends."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from ringsched._version import __version__
from ringsched.cli.command import WIDTH, Group, for_terminal, usage_sentence
from ringsched.cli.interrupts import WORDS, answered, listen
from ringsched.errors import RingschedError

ENDED_BY_SIGNAL = 128  # and its number, as shells count

# The commands in groups, with their first line of help; a command itself is loaded when it is used.
GROUPS = {
    "Plan and run": {
        "plan": "Decide which GPUs each job gets and when it starts.",
        "simulate": "Simulate a queue of jobs that arrive over time.",
        "slurm": "Plan the queue of a Slurm cluster and run the plan.",
    },
    "Understand": {
        "check": "Show how a scenario is understood; warn about mistakes.",
        "verify": "Check a plan independently of the planner.",
        "explain": "Show which jobs slow each other down, and on which link.",
        "whatif": "Show what another job, server or link would change.",
        "compare": "Compare policies over many scenarios, with confidence intervals.",
        "report": "Draw plans: GPUs over time, contention on links, and the gap.",
        "serve": "Open the lab: a web page and an HTTP API for planning.",
    },
    "Scenarios and models": {
        "example": "Print or write an example scenario.",
        "generate": "Generate a workload from a seed.",
        "import": "Make a scenario from the trace of a real cluster.",
        "topology": "Make a cluster from a topology file.",
        "profile": "Run a PyTorch job and describe it: gradients, times and buckets.",
        "models": "List the catalogue of training models.",
        "policies": "List the policies: queue order, placement rule and options.",
        "calibrate": "Measure contention on real rings and fit the model to it.",
    },
    "The paper": {
        "paper": "Reproduce the paper's figures and evaluate its claims.",
        "ring": "Run ring all-reduce step by step on small vectors.",
    },
}
COMMANDS = {name: line for commands in GROUPS.values() for name, line in commands.items()}
# Where a command's name cannot be that of its module: `import` is a word of Python.
MODULES = {"import": "import_trace"}


class Ringsched(Group):
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
        width = max(map(len, COMMANDS))
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), line) for name, line in commands.items()])

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        """Parse the options of `ringsched` itself."""
        try:
            return super().make_context(*arguments, **settings)
        except click.UsageError as error:
            _refuse(error)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; wrong input ends with 2, "no" with 1, Ctrl-C with 130, SIGTERM with 143."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            _refuse(error)
        except (Exception, KeyboardInterrupt) as error:
            # After a signal any error may be its work, such as that of a worker that was ended by it too.
            number = answered() or (signal.SIGINT if isinstance(error, KeyboardInterrupt) else None)
            if number is not None:
                click.echo(WORDS[number], err=True)
                ctx.exit(ENDED_BY_SIGNAL + number)
            if not isinstance(error, RingschedError):
                raise
            click.echo(for_terminal(f"Error: {error}"), err=True)
            ctx.exit(error.exit_code)


def _refuse(error: click.UsageError) -> NoReturn:
    """Print a usage error as one sentence, and end; a command without arguments shows its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
    else:
        click.echo(for_terminal(f"Error: {usage_sentence(error)}"), err=True)
    raise click.exceptions.Exit(error.exit_code) from None


@click.group(
    cls=Ringsched,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH},
    epilog="Exit codes: 0 success; 1 negative result; 2 wrong input or usage.",
)
@click.version_option(__version__, prog_name="ringsched")
def ringsched() -> None:
    """Plan ring-all-reduce training jobs on a shared GPU cluster.

    Decides which GPUs
    each job gets and when it starts, and reports how far that plan is from the best possible.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    listen()
    for stream in (sys.stdout, sys.stderr):  # names of jobs may be beyond what the terminal can show
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        ringsched(arguments, prog_name="ringsched")
    except OSError as error:  # our own files raise an InputError: this is standard output, on a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left goes nowhere
        click.echo(f"Error: standard output cannot be written: {error.strerror}", err=True)
        sys.exit(RingschedError.exit_code)
