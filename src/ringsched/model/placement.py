"""Where a job runs: which GPUs of which servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ringsched.errors import InputError
from ringsched.model.checks import integers, sequence, shown, text


class Placement(Mapping[str, tuple[int, ...]]):
    """An immutable mapping from server name to the GPUs a job holds there.

    Only the form is checked here; whether the GPUs exist and are free depends on the scenario.

    Examples
    --------
    >>> placement = Placement({"a": [1, 0], "b": [3]})
    >>> placement["a"], placement.num_gpus
    ((0, 1), 3)
    """

    __slots__ = ("_gpus",)

    def __init__(self, gpus: Mapping[str, Sequence[int]]) -> None:
        if not isinstance(gpus, Mapping):
            raise InputError(f"must map server names to lists of GPUs, not {shown(gpus)}")
        self._gpus = {text(server, "server name"): _indices(server, held) for server, held in gpus.items()}

    @property
    def num_gpus(self) -> int:
        """How many GPUs in all."""
        return sum(len(held) for held in self._gpus.values())

    def __getitem__(self, server: str) -> tuple[int, ...]:
        return self._gpus[server]

    def __iter__(self) -> Iterator[str]:
        return iter(self._gpus)

    def __len__(self) -> int:
        return len(self._gpus)

    def __hash__(self) -> int:
        return hash(frozenset(self._gpus.items()))

    def __eq__(self, other: object) -> bool:
        return self._gpus == dict(other) if isinstance(other, Mapping) else NotImplemented

    def __repr__(self) -> str:
        return f"Placement({self._gpus!r})"


def _indices(server: str, held: object) -> tuple[int, ...]:
    return tuple(sorted(integers(sequence(held, server, "GPU indices"), server)))
