"""The changes that the options of `ringsched whatif` ask for."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
from ringsched.errors import InputError, UnknownName
from ringsched.io.jobs import field_from_text


def changes_of(
    add_servers: Sequence[str],
    remove_server: Sequence[str],
    inter_server_gbps: Sequence[float],
    link_factor: Sequence[float],
    contention: Sequence[str],
    together: bool,
) -> list[Change]:
    """Return one change for every option, or all of them in one."""
    changes: list[Change] = [
        *map(_servers, add_servers),
        *(RemoveServer(name=name) for name in remove_server),
        *(LinkSpeed(inter_server_gbps=speed) for speed in inter_server_gbps),
        *(LinkFactor(factor=factor) for factor in link_factor),
        *map(_contention, contention),
    ]
    return [Together(changes=tuple(changes))] if together and len(changes) > 1 else changes


def _servers(text: str) -> AddServers:
    match = re.fullmatch(r"(\d{1,9})(?:x(\d{1,9}))?", text)
    if match is None:
        raise InputError(
            f"must be a number, or a number and GPUs such as 4x8, not {text!r}", field="add-servers"
        )
    return AddServers(count=int(match[1]), gpus=None if match[2] is None else int(match[2]))


def _contention(text: str) -> OtherContention:
    fields: dict[str, Any] = {}
    for part in text.split(","):
        key, sign, value = (word.strip() for word in part.partition("="))
        if not sign or not value:
            raise InputError(
                f"must be written as share=0.5,degradation=0.2, not {text!r}", field="contention"
            )
        if key not in CONTENTION_KEYS:
            raise UnknownName("key", key, CONTENTION_KEYS, field="contention")
        fields[key] = value if key == "model" else field_from_text(key, value)
    return OtherContention(fields=fields)
