"""Commands whose help is in groups, and usage errors in the style of all errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import click

from ringsched.errors import did_you_mean

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

COMMON = "Common options"
SEARCH = "Search"
OUTPUT = "Output"
WIDTH = 100  # of help, on a terminal that is wide enough
MOST_NAMES = 34  # columns for the names of options

_NUMBERS = {click.types.FloatParamType: "a number such as 0.9", click.types.IntParamType: "an integer"}
_QUOTED = re.compile(r"^'.*'(?= is not a valid )", re.DOTALL)


class Option(click.Option):
    """An option that the help shows in a group; `stated` describes a default that is not a fixed value."""

    def __init__(self, *names: Any, group: str = COMMON, stated: str = "", **settings: Any) -> None:
        if stated:
            settings["help"] = f"{settings['help']}  [default: {stated}]"
        super().__init__(*names, **settings)
        self.group = group


option = partial(click.option, cls=Option)


class Command(click.Command):
    """A command whose help shows the common options first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in their groups, all in the same two columns."""
        groups: dict[str, list[tuple[str, str]]] = {COMMON: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                groups.setdefault(getattr(param, "group", COMMON), []).append(record)
        shown = {name: records for name, records in groups.items() if records}
        width = min(MOST_NAMES, max(len(names) for records in shown.values() for names, _ in records))
        for name, records in shown.items():
            with formatter.section("Options" if len(shown) == 1 else name):
                formatter.write_dl([(names.ljust(width), text) for names, text in records], MOST_NAMES)


class Group(click.Group):
    """A group of commands that suggests what a mistyped one may be."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named first."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            commands = self.list_commands(ctx)
            listed = "" if len(commands) > 12 else f"; choose from {', '.join(commands)}"
            raise click.UsageError(f"no such command {name!r}{did_you_mean(name, commands)}{listed}", ctx)
        return super().resolve_command(ctx, args)


Group.group_class = Group


def usage_sentence(error: click.UsageError) -> str:
    """Return a usage error as one sentence: the command, what is wrong, and where to look."""
    path, ctx = "", error.ctx
    while ctx is not None and ctx.parent is not None:
        path, ctx = f"{ctx.info_name} {path}".strip(), ctx.parent
    sentence = f"{_problem(error)}; see 'ringsched {path}{' ' if path else ''}--help'"
    return f"{path}: {sentence}" if path else sentence


def _problem(error: click.UsageError) -> str:
    params = [] if error.ctx is None else error.ctx.command.get_params(error.ctx)
    if isinstance(error, click.NoSuchOption):
        known = [name for param in params if isinstance(param, click.Option) for name in param.opts]
        return f"no such option {error.option_name!r}{did_you_mean(error.option_name, known)}"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return f"{_named(error.param, error.ctx)} is missing"
    if isinstance(error, click.BadParameter) and error.param is not None:
        wanted = _NUMBERS.get(type(error.param.type))
        if wanted is not None and (value := _QUOTED.match(error.message)):
            return f"{_named(error.param, error.ctx)} must be {wanted}, not {value[0]}"
        return f"{_named(error.param, error.ctx)}: {error.message.rstrip('.')}"
    message = error.format_message().rstrip(".")
    return message[:1].lower() + message[1:]


def _named(param: click.Parameter, ctx: click.Context | None) -> str:
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.make_metavar(ctx) if ctx is not None else str(param.metavar or param.name)
