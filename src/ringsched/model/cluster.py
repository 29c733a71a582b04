"""The hardware: servers, racks, and the links between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ringsched.errors import InputError, UnknownName
from ringsched.model.checks import (
    MAX_GPUS,
    Replaceable,
    instance,
    integer,
    number,
    sequence,
    settle,
    text,
    unique,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server(Replaceable):
    """One server: O_s GPUs behind one uplink.

    Parameters
    ----------
    name, gpus
        Its name and how many GPUs it has, the unavailable ones included.
    rack
        Name of the rack it stands in, if any.
    uplink_gbps
        Speed of its uplink; the cluster's `inter_server_gbps` if absent.
    unavailable
        Indices of GPUs that are out of use.
    """

    name: str
    gpus: int
    rack: str | None = None
    uplink_gbps: float | None = None
    unavailable: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        settle(
            self, name=text(self.name, "name"), gpus=integer(self.gpus, "gpus", minimum=1, maximum=MAX_GPUS)
        )
        if self.rack is not None:
            settle(self, rack=text(self.rack, "rack"))
        if self.uplink_gbps is not None:
            settle(self, uplink_gbps=number(self.uplink_gbps, "uplink_gbps", above=0))
        settle(self, unavailable=self._checked_unavailable())

    @property
    def capacity(self) -> int:
        """GPUs that can be used."""
        return self.gpus - len(self.unavailable)

    def _checked_unavailable(self) -> tuple[int, ...]:
        listed = sequence(self.unavailable, "unavailable", "GPU indices")
        indices = [integer(index, f"unavailable[{at}]", minimum=0) for at, index in enumerate(listed)]
        seen: set[int] = set()
        for at, index in enumerate(indices):
            if index >= self.gpus:
                raise InputError(
                    f"names GPU {index}, but the server has GPUs 0 to {self.gpus - 1}",
                    field=f"unavailable[{at}]",
                )
            if index in seen:
                raise InputError(f"names GPU {index} twice", field=f"unavailable[{at}]")
            seen.add(index)
        return tuple(sorted(indices))

    def expanded(self) -> dict[str, Any]:
        """Return the fields as a scenario file writes them, absent optionals left out."""
        optional = {"rack": self.rack, "uplink_gbps": self.uplink_gbps, "unavailable": list(self.unavailable)}
        return {"name": self.name, "gpus": self.gpus} | {
            key: value for key, value in optional.items() if value not in (None, [])
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rack(Replaceable):
    """A group of servers behind one more uplink."""

    name: str
    uplink_gbps: float

    def __post_init__(self) -> None:
        settle(
            self,
            name=text(self.name, "name"),
            uplink_gbps=number(self.uplink_gbps, "uplink_gbps", above=0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster(Replaceable):
    """Servers, the racks they stand in, and the speeds b^e, b^i and C of the paper.

    Racks are kept in the order in which the servers first name them, unused ones last, so that
    nothing depends on the order of keys in a file.
    """

    servers: tuple[Server, ...]
    inter_server_gbps: float
    intra_server_gbps: float
    reduce_gbps: float
    racks: tuple[Rack, ...] = ()

    def __post_init__(self) -> None:
        servers = tuple(
            instance(server, f"servers[{at}]", Server)
            for at, server in enumerate(sequence(self.servers, "servers", "servers"))
        )
        racks = tuple(
            instance(rack, f"racks[{at}]", Rack)
            for at, rack in enumerate(sequence(self.racks, "racks", "racks"))
        )
        settle(self, servers=servers, racks=_in_order_of_use(racks, servers))
        for field in ("inter_server_gbps", "intra_server_gbps", "reduce_gbps"):
            settle(self, **{field: number(getattr(self, field), field, above=0)})
        if not servers:
            raise InputError("must hold at least one server", field="servers")
        unique(((f"servers[{at}]", server.name) for at, server in enumerate(servers)), "server")
        unique(((f"racks[{at}]", rack.name) for at, rack in enumerate(racks)), "rack")
        self._check_racks_are_defined()
        if sum(server.gpus for server in servers) > MAX_GPUS:
            raise InputError(f"hold more than {MAX_GPUS} GPUs in all", field="servers")

    def _check_racks_are_defined(self) -> None:
        names = {rack.name: None for rack in self.racks}
        for server in self.servers:
            if server.rack is not None and server.rack not in names:
                place = f"server {server.name!r}"
                if not names:
                    raise InputError(
                        f"names {server.rack!r}, but no racks are defined", field="rack", place=place
                    )
                raise UnknownName("rack", server.rack, names, field="rack", place=place)

    @property
    def capacity(self) -> int:
        """N: GPUs that can be used, over all servers."""
        return sum(server.capacity for server in self.servers)

    def expanded(self) -> dict[str, Any]:
        """Return the fields as a scenario file writes them."""
        fields: dict[str, Any] = {
            "inter_server_gbps": self.inter_server_gbps,
            "intra_server_gbps": self.intra_server_gbps,
            "reduce_gbps": self.reduce_gbps,
            "servers": [server.expanded() for server in self.servers],
        }
        if self.racks:
            fields["racks"] = {rack.name: {"uplink_gbps": rack.uplink_gbps} for rack in self.racks}
        return fields


def _in_order_of_use(racks: tuple[Rack, ...], servers: Iterable[Server]) -> tuple[Rack, ...]:
    first_use: Mapping[str | None, int] = {
        name: at for at, name in reversed(list(enumerate(server.rack for server in servers)))
    }
    return tuple(sorted(racks, key=lambda rack: (first_use.get(rack.name, MAX_GPUS), rack.name)))
