"""The nodes of a job, as logs write them."""

from __future__ import annotations

import re

from ringsched.errors import InputError
from ringsched.formats.host_lists import expand
from ringsched.formats.traces.rows import malformed
from ringsched.model.checks import shown

_COUNTED = re.compile(r"(.+?)(?::|\*|\(x?|=)(\d+)\)?")


def placed_gpus(text: str, gpus: int, column: str) -> tuple[dict[str, int], bool]:
    """Return the GPUs of a job on each node of `n[1-2]`, `n1;n2` or `n1:4 n2:2`, and whether they are split.

    Without numbers they are split evenly; the first nodes have one more where that is not possible.

    Examples
    --------
    >>> placed_gpus("n[1-2]", 8, "nodes"), placed_gpus("a:4;b:2", 6, "nodes")
    (({'n1': 4, 'n2': 4}, True), ({'a': 4, 'b': 2}, False))
    >>> placed_gpus("['a', 'b']", 2, "nodes"), placed_gpus("n[1-2]:4", 8, "nodes")
    (({'a': 1, 'b': 1}, True), ({'n1': 4, 'n2': 4}, False))
    """
    try:
        hosts = expand(_plain_list(text))
    except InputError as error:
        raise malformed(column, error.problem) from None
    counted = [_COUNTED.fullmatch(host) for host in hosts]
    if counted and all(counted):
        held = {found[1]: int(found[2]) for found in counted if found}
        if len(held) < len(hosts) or sum(held.values()) != gpus or 0 in held.values():
            raise malformed(column, f"must name {gpus} GPUs, each node once, not {shown(text)}")
        return held, False
    return split_evenly(list(dict.fromkeys(hosts)), gpus, column), len(hosts) > 1


def _plain_list(text: str) -> str:
    """Return a list as Slurm writes it, of one in other signs or in the brackets of Python or JSON."""
    text = text.strip()
    if text[:1] in "[({" and text[-1:] in "])}" and re.search(r"[A-Za-z_'\"]", text):
        text = text[1:-1]
    text = re.sub(r"['\"]", "", text)
    return re.sub(r"[\s;+|]+", ",", text.strip(" ,;")).replace(",,", ",")


def split_evenly(hosts: list[str], gpus: int, column: str) -> dict[str, int]:
    """Return the GPUs of a job on each of its hosts, where only their sum is recorded."""
    if not 0 < len(hosts) <= gpus:
        raise malformed(column, f"names {len(hosts)} nodes for {gpus} GPUs")
    if not all(host.isprintable() and host.strip() for host in hosts):
        raise malformed(column, "names a node that cannot be printed")
    each, more = divmod(gpus, len(hosts))
    return {host: each + (at < more) for at, host in enumerate(hosts)}
