"""The table of formats, and what traces call their models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from ringsched.errors import InputError
from ringsched.formats.catalogue import TIMED
from ringsched.formats.traces.acme import ACME
from ringsched.formats.traces.chronus import CHRONUS
from ringsched.formats.traces.generic import CSV
from ringsched.formats.traces.helios import HELIOS
from ringsched.formats.traces.itp import ITP
from ringsched.formats.traces.jobcomp import JOBCOMP
from ringsched.formats.traces.lingjun import LINGJUN
from ringsched.formats.traces.muri import MURI
from ringsched.formats.traces.openb import OPENB
from ringsched.formats.traces.options import ReadOptions
from ringsched.formats.traces.philly import PHILLY, PHILLY_JSON
from ringsched.formats.traces.rows import BadRow, TraceRow
from ringsched.formats.traces.sacct import SACCT
from ringsched.formats.traces.swf import SWF
from ringsched.formats.traces.tiresias import TIRESIAS

# The same model under another name, or the member of its family that the catalogue has.
RELATIVES: Mapping[str, str] = {
    "bert": "bert-base",
    "gpt2": "gpt2-small",
    "inception3": "inception-v3",
    "inception4": "inception-v3",
    "googlenet": "inception-v3",
    "resnet101": "resnet50",
    "resnet152": "resnet50",
    "vgg11": "vgg16",
    "vgg19": "vgg16",
    "alexnet": "vgg16",
}


def catalogue_model(name: str | None) -> str | None:
    """Return the model of the catalogue nearest to what a trace names, or None if there is none.

    Examples
    --------
    >>> catalogue_model("VGG19"), catalogue_model("resnet50"), catalogue_model("dqn")
    ('vgg16', 'resnet50', None)
    """
    if name is None:
        return None
    known = name.lower()
    return known if known in TIMED else RELATIVES.get(known)


class Format(Protocol):
    """A way to write a trace."""

    @property
    def takes(self) -> frozenset[str]:
        """The options it understands, fields of `ReadOptions`."""
        ...

    @property
    def records_places(self) -> bool:
        """Whether it can say where jobs ran."""
        ...

    def rows(self, path: Path, options: ReadOptions) -> Iterator[TraceRow | BadRow]:
        """Yield every row: a job, or why it is none."""
        ...


FORMATS: Mapping[str, Format] = {
    "csv": CSV,
    "sacct": SACCT,
    "jobcomp": JOBCOMP,
    "swf": SWF,
    "philly": PHILLY,
    "philly-json": PHILLY_JSON,
    "tiresias": TIRESIAS,
    "chronus": CHRONUS,
    "muri": MURI,
    "helios": HELIOS,
    "acme": ACME,
    "itp": ITP,
    "openb": OPENB,
    "lingjun": LINGJUN,
}


def check_takes(format: str, given: Mapping[str, object]) -> None:
    """Raise if an option that is given is none of the format's."""
    for option, value in given.items():
        if value is not None and option not in FORMATS[format].takes:
            takers = [name for name, known in FORMATS.items() if option in known.takes]
            raise InputError(f"is only allowed with {', '.join(takers)}, not {format}", field=option)
