"""The table of formats, and what traces call their models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from ringsched.formats.catalogue import TIMED
from ringsched.formats.traces.acme import ACME
from ringsched.formats.traces.helios import HELIOS
from ringsched.formats.traces.itp import ITP
from ringsched.formats.traces.muri import MURI
from ringsched.formats.traces.philly import PHILLY, PHILLY_JSON
from ringsched.formats.traces.table import BadRow, TraceRow
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

    def rows(self, path: Path) -> Iterator[TraceRow | BadRow]:
        """Yield every row: a job, or why it is none."""
        ...


FORMATS: Mapping[str, Format] = {
    "philly": PHILLY,
    "philly-json": PHILLY_JSON,
    "tiresias": TIRESIAS,
    "muri": MURI,
    "helios": HELIOS,
    "acme": ACME,
    "itp": ITP,
}
