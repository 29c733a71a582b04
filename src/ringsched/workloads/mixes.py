"""Which sizes and models of jobs a workload has, and how many of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from ringsched.errors import InputError, UnknownName
from ringsched.formats.catalogue import TIMED
from ringsched.model.checks import MAX_GPUS, integer, number, shown

_Key = TypeVar("_Key", int, str)

# GPUs of a job -> weight.
SIZE_MIXES: Mapping[str, Mapping[int, float]] = {
    # Section 7 of the paper: counts out of 160.
    "paper": {1: 80, 2: 14, 4: 26, 8: 30, 16: 8, 32: 2},
    # Counts out of 10,000, approximately those of Microsoft's Philly clusters (Jeon et al. 2019):
    # 12 and 24 GPUs are counted as 16 and 32, and the rare sizes are rounded up to one.
    "philly": {1: 9317, 2: 221, 4: 227, 8: 200, 16: 25, 32: 8, 64: 1, 128: 1},
    "uniform": {1: 1, 2: 1, 4: 1, 8: 1, 16: 1, 32: 1},
}

# Model of the catalogue -> weight. Recorded workloads depend on the models of a mix and their order.
MODEL_MIXES: Mapping[str, Mapping[str, float]] = {
    "uniform": dict.fromkeys(
        ("resnet50", "vgg16", "inception-v3", "lstm-ptb", "bert-base", "gpt2-small", "resnet18"), 1
    ),
    "vision": {"resnet50": 1, "vgg16": 1, "inception-v3": 1, "resnet18": 1},
    "language": {"lstm-ptb": 1, "bert-base": 1, "gpt2-small": 1},
}


def size_mix(mix: str | Mapping[int, float], field: str) -> dict[int, float]:
    """Return GPUs -> weight from a named mix, "1:80,2:14", or such a mapping.

    Examples
    --------
    >>> size_mix("1:80, 2:14", "sizes")
    {1: 80.0, 2: 14.0}
    """
    return _mix(mix, field, SIZE_MIXES, "mix of sizes", _size)


def model_mix(mix: str | Mapping[str, float], field: str) -> dict[str, float]:
    """Return model -> weight from a named mix, "resnet50:3,vgg16", or such a mapping.

    Examples
    --------
    >>> model_mix("resnet50:3,vgg16", "models")
    {'resnet50': 3.0, 'vgg16': 1.0}
    """
    return _mix(mix, field, MODEL_MIXES, "mix or model", _model)


def apportioned(mix: Mapping[_Key, float], number_of: int) -> list[_Key]:
    """Return `number_of` keys, as close to the weights as whole numbers can be (largest remainders).

    Examples
    --------
    >>> apportioned({1: 2.0, 8: 1.0}, 5)
    [1, 1, 1, 8, 8]
    """
    total = sum(mix.values())
    quotas = {key: number_of * weight / total for key, weight in mix.items()}
    counts = {key: int(quota) for key, quota in quotas.items()}
    missing = number_of - sum(counts.values())
    for key in sorted(quotas, key=lambda key: counts[key] - quotas[key])[:missing]:
        counts[key] += 1
    return [key for key, count in counts.items() for _ in range(count)]


def mix_text(mix: str | Mapping[_Key, float]) -> str:
    """Return a mix as text, which unlike a mapping cannot change and has a hash.

    Examples
    --------
    >>> mix_text({1: 80, 2: 0.5}), mix_text("philly")
    ('1:80,2:0.5', 'philly')
    """
    return mix if isinstance(mix, str) else ",".join(f"{key}:{weight:.17g}" for key, weight in mix.items())


def _mix(
    mix: str | Mapping[_Key, float],
    field: str,
    named: Mapping[str, Mapping[_Key, float]],
    what: str,
    key_of: Callable[[object, str], _Key | None],
) -> dict[_Key, float]:
    if isinstance(mix, str):
        pairs = list(named[mix].items()) if mix in named else _inline(mix, field)
    elif isinstance(mix, Mapping):
        pairs = list(mix.items())
    else:
        raise InputError(f"must be a {what}, not {shown(mix)}", field=field)
    result: dict[_Key, float] = {}
    for given, weight in pairs:
        key = key_of(given, field)
        if key is None:
            known = [*named, *TIMED] if named is MODEL_MIXES else named
            raise UnknownName(what, str(given), known, field=field)
        if key in result:
            raise InputError(f"names {given} twice", field=field)
        # A bound far below what would lose the small weights beside it.
        result[key] = number(weight, f"{field}: the weight of {given}", above=0, maximum=1e9)
    if not result:
        raise InputError("must not be empty", field=field)
    return result


def _inline(mix: str, field: str) -> list[tuple[str, object]]:
    """Return the pairs of "1:80,2:14"; a weight left out is 1."""
    pairs: list[tuple[str, object]] = []
    for entry in mix.split(","):
        key, colon, weight = (part.strip() for part in entry.partition(":"))
        if not key or (colon and not weight):
            raise InputError(f"must look like 1:80,2:14 or be a name, not {shown(mix)}", field=field)
        pairs.append((key, _weight(weight) if colon else 1))
    return pairs


def _weight(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _size(given: object, field: str) -> int | None:
    """Return a number of GPUs; None if it is no number, an InputError if it is no possible one."""
    if isinstance(given, str):
        try:
            given = int(given)
        except ValueError:
            return None
    return integer(given, f"{field}: a size", minimum=1, maximum=MAX_GPUS)


def _model(given: object, _field: str) -> str | None:
    return given if isinstance(given, str) and given in TIMED else None
