"""The table of formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ringsched.errors import InputError, UnknownName
from ringsched.formats.topologies.kubernetes import read_kubernetes
from ringsched.formats.topologies.slurm_conf import read_slurm_conf
from ringsched.formats.topologies.slurm_yaml import read_slurm_yaml
from ringsched.formats.topologies.table import read_table
from ringsched.formats.topologies.topograph import read_topograph
from ringsched.formats.topologies.topology import Topology


class Format(NamedTuple):
    """A way to write a topology: how to read it, and the options that it has."""

    read: Callable[..., Topology]
    options: tuple[str, ...] = ()


FORMATS: Mapping[str, Format] = {
    "slurm": Format(read_slurm_conf),
    "slurm-yaml": Format(read_slurm_yaml, ("topology",)),
    "topograph": Format(read_topograph),
    "kubernetes": Format(read_kubernetes, ("levels",)),
    "csv": Format(read_table, ("levels",)),
}


def read_topology(path: Path, format: str, **options: object) -> Topology:
    """Return the topology in a file of one of the formats; errors name the file.

    An option that is None is not given; one that the format does not have is refused.
    """
    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS, field="format")
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in FORMATS[format].options:
            allowed = [key for key, each in FORMATS.items() if name in each.options]
            raise InputError(f"is only allowed with the format {' or '.join(allowed)}", field=name)
    try:
        return FORMATS[format].read(path, **given)
    except InputError as error:
        if error.file or (error.field in given and error.place is None):  # about an option
            raise
        raise error.located(file=str(path)) from None
