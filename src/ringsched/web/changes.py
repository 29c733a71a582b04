"""The changes that the body of a what-if asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ringsched.analysis.whatif.changes import (
    CONTENTION_KEYS,
    AddServers,
    Change,
    LinkFactor,
    LinkSpeed,
    OtherContention,
    RemoveServer,
    Together,
)
from ringsched.errors import InputError
from ringsched.io.decode import check_keys, table
from ringsched.model import Scenario
from ringsched.model.checks import text
from ringsched.web.limits import Limits, check_count


def changes_of(given: Sequence[dict[str, Any]], scenario: Scenario, limits: Limits) -> list[Change]:
    """Return one change for each object; one with several keys holds them all together."""
    check_count(len(given), "changes", limits.changes, "changes")
    changes = [_change(fields, f"changes[{at}]") for at, fields in enumerate(given)]
    for at, change in enumerate(changes):
        _check_size(change, scenario, limits, f"changes[{at}]")
    return changes


def _change(fields: dict[str, Any], place: str) -> Change:
    check_keys(fields, list(_KINDS), (), place)
    if not fields:
        raise InputError(f"is empty; choose from {', '.join(_KINDS)}", field=place)
    try:
        changes = [_KINDS[key](value) for key, value in fields.items()]
    except InputError as error:
        raise error if error.place else error.located(place=place) from None
    return changes[0] if len(changes) == 1 else Together(changes=tuple(changes))


def _add_servers(value: Any) -> AddServers:
    if not isinstance(value, dict):
        return AddServers(count=value)
    check_keys(value, ("count", "gpus"), ("count",), "add_servers")
    return AddServers(count=value["count"], gpus=value.get("gpus"))


def _contention(value: Any) -> OtherContention:
    fields = table(value, "contention")
    check_keys(fields, CONTENTION_KEYS, (), "contention")
    if not fields:
        raise InputError(f"is empty; choose from {', '.join(CONTENTION_KEYS)}", field="contention")
    return OtherContention(fields=fields)


_KINDS: Mapping[str, Callable[[Any], Change]] = {
    "add_servers": _add_servers,
    "remove_server": lambda value: RemoveServer(name=text(value, "remove_server")),
    "inter_server_gbps": lambda value: LinkSpeed(inter_server_gbps=value),
    "link_factor": lambda value: LinkFactor(factor=value),
    "contention": _contention,
}


def _check_size(change: Change, scenario: Scenario, limits: Limits, place: str) -> None:
    """Raise if more servers than this server takes would come of it, before they are made."""
    parts = change.changes if isinstance(change, Together) else (change,)
    for part in parts:
        if isinstance(part, AddServers):
            largest = max(server.gpus for server in scenario.cluster.servers)
            gpus = part.count * (largest if part.gpus is None else part.gpus)
            check_count(part.count + len(scenario.cluster.servers), "servers", limits.servers, place)
            check_count(gpus + scenario.cluster.capacity, "GPUs", limits.gpus, place)
