"""What traces call their models, and the model of the catalogue that is nearest."""

from __future__ import annotations

from collections.abc import Mapping

from ringsched.io.catalogue import CATALOGUE

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
    return known if known in CATALOGUE else RELATIVES.get(known)
