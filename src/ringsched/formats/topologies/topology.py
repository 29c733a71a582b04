"""What the files have in common: the switch above every server and every switch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from ringsched.errors import InputError, UnknownName

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """A tree of servers and switches, without speeds.

    Attributes
    ----------
    switch_of
        The switch above each server, in the order of the file; None at the core of the network.
    parent_of
        The switch above each switch; those at the core are left out.
    gpus
        GPUs of the servers of which the file has them.
    parallel
        How many switches of the file a merged switch consists of.
    assumptions
        What the file does not define and the reader assumed, a sentence each.
    """

    switch_of: Mapping[str, str | None]
    parent_of: Mapping[str, str]
    gpus: Mapping[str, int] = field(default_factory=dict)
    parallel: Mapping[str, int] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()

    def path(self, server: str) -> list[str]:
        """Return the switches above a server, from the lowest up."""
        switches: list[str] = []
        switch = self.switch_of.get(server)
        while switch is not None:
            switches.append(switch)
            switch = self.parent_of.get(switch)
        return switches

    def above(self, servers: Sequence[str]) -> Topology:
        """Return the part above some servers; those that the file lacks are connected to the core.

        Switches above all of the servers are left out, as no job crosses an uplink up there.
        """
        paths = {server: self.path(server) for server in servers}
        common = set.intersection(*(set(path) for path in paths.values())) if paths else set()
        kept = {server: [switch for switch in path if switch not in common] for server, path in paths.items()}
        below = {switch for path in kept.values() for switch in path[:-1]}
        return Topology(
            switch_of={server: path[0] if path else None for server, path in kept.items()},
            parent_of={switch: self.parent_of[switch] for switch in self.parent_of if switch in below},
            gpus={server: self.gpus[server] for server in servers if server in self.gpus},
            parallel=self.parallel,
            assumptions=self.assumptions,
        )


class _Place(NamedTuple):
    """The switch above a server or switch, and where the file names it."""

    above: str | None
    where: str


class Tree:
    """Collects the nodes of a tree while a file is read; each mistake is reported with its place.

    Examples
    --------
    >>> tree = Tree()
    >>> tree.add_switch("s1", "line 1")
    >>> tree.add_servers(["n1", "n2"], "s1", "line 1")
    >>> tree.topology().switch_of
    {'n1': 's1', 'n2': 's1'}
    >>> tree.add_servers(["n2"], "s2", "line 2")
    Traceback (most recent call last):
    ringsched.errors.InputError: line 2: server 'n2' is below switch 's1' already (line 1); keep one of them
    """

    def __init__(self) -> None:
        self._servers: dict[str, _Place] = {}
        self._switches: dict[str, str] = {}  # and where they are defined
        self._parents: dict[str, _Place] = {}

    def add_switch(self, name: str, where: str) -> None:
        """Define a switch."""
        if name in self._switches:
            raise InputError(
                f"switch {name!r} is defined already ({self._switches[name]}); keep one of them", place=where
            )
        self._switches[name] = where

    def add_servers(self, names: Iterable[str], switch: str | None, where: str) -> None:
        """Connect servers to a switch, or to the core."""
        for name in names:
            self._add(self._servers, "server", name, switch, where)

    def add_parent(self, names: Iterable[str], parent: str, where: str) -> None:
        """Connect switches to a switch above them."""
        for name in names:
            self._add(self._parents, "switch", name, parent, where)

    @staticmethod
    def _add(places: dict[str, _Place], what: str, name: str, above: str | None, where: str) -> None:
        known = places.setdefault(name, _Place(above, where))
        if known.above != above:
            raise InputError(
                f"{what} {name!r} is below switch {known.above!r} already ({known.where}); keep one of them",
                place=where,
            )

    def topology(self, *assumptions: str) -> Topology:
        """Return the tree, or raise if a switch is not defined, is above itself, or there are no servers."""
        for name, place in self._parents.items():
            if name not in self._switches:
                raise UnknownName("switch", name, self._switches, place=place.where)
        if not self._servers:
            raise InputError("names no servers")
        parent_of = {name: place.above for name, place in self._parents.items() if place.above is not None}
        self._check_no_cycle(parent_of)
        empty = set(self._switches).difference(
            *([place.above, *_way_up(parent_of, place.above)] for place in self._servers.values())
        )
        left_out = [f"{_listed(sorted(empty))}: left out, no server is below"] if empty else []
        return Topology(
            switch_of={name: place.above for name, place in self._servers.items()},
            parent_of=parent_of,
            assumptions=(*assumptions, *left_out),
        )

    def _check_no_cycle(self, parent_of: Mapping[str, str]) -> None:
        safe: set[str] = set()
        for name in parent_of:
            path = [name]
            while (above := parent_of.get(path[-1])) is not None and above not in safe:
                if above in path:
                    raise InputError(
                        f"switch {above!r} leads back to itself; the network must be a tree",
                        place=self._parents[above].where,
                    )
                path.append(above)
            safe.update(path)


def _way_up(parent_of: Mapping[str, str], switch: str | None) -> Iterable[str]:
    while switch is not None and (switch := parent_of.get(switch)) is not None:
        yield switch


def _listed(names: Sequence[str], most: int = 3) -> str:
    more = len(names) - most
    return f"switch{'es' if len(names) > 1 else ''} {', '.join(names[:most])}" + (
        f" and {more} more" if more > 0 else ""
    )


def at_place(place: str, function: Callable[..., _Result], *arguments: object) -> _Result:
    """Return what a function returns; an error that it raises gets the place."""
    try:
        return function(*arguments)
    except InputError as error:
        raise error.located(place=place) from None
