"""Jobs as engineers describe them: from parameters, precision and measured times to the fields of the model.

docs/reference/scenario.md#fields-that-ringsched-derives has the formulas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringsched.errors import InputError
from ringsched.formats.catalogue import BYTES_PER_PARAMETER, FORWARD_PART
from ringsched.model.checks import choice, integer, number

DESCRIPTION_KEYS = ("parameters_m", "precision", "iteration_ms", "accumulation", "bucket_mib", "sharding")
BYTES: Mapping[str, int] = {"fp64": 8, "fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}
SHARDINGS = ("none", "fsdp")
FSDP_BYTES = 1.5  # two all-gathers and a reduce-scatter, where an all-reduce is one of each

# Beyond these a value is taken for a typing error; what is derived from them stays finite.
MOST_PARAMETERS_M = 1e9
MOST_MS = 1e12
MOST_MICRO_BATCHES = 1_000_000
LEAST_BUCKET_MIB = 1e-3
MOST_BUCKETS = 1_000_000_000
MB_PER_MIB = 1.048576

_SIZE, _TIME, _BUCKETS = "the size of the gradients", "the time of an iteration", "the number of buckets"
# Two fields that state the same thing, and which.
_ONE_OF = (
    ("parameters_m", "gradient_mb", _SIZE),
    ("precision", "gradient_mb", _SIZE),
    ("iteration_ms", "forward_ms", _TIME),
    ("iteration_ms", "backward_ms", _TIME),
    ("bucket_mib", "buckets", _BUCKETS),
)
# What a new value of a field makes void: the other ways to state the same thing.
REPLACES: Mapping[str, tuple[str, ...]] = {
    "model": ("gradient_mb", "parameters_m", "minibatch", "iteration_ms", "forward_ms", "backward_ms"),
    "gradient_mb": ("parameters_m", "precision"),
    "parameters_m": ("gradient_mb",),
    "iteration_ms": ("forward_ms", "backward_ms"),
    "forward_ms": ("iteration_ms",),
    "backward_ms": ("iteration_ms",),
    "buckets": ("bucket_mib",),
    "bucket_mib": ("buckets",),
}


def described(stated: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a job as the model has them.

    Parameters
    ----------
    stated
        Fields of the job itself, each given.
    known
        What the catalogue says of its model. Fields of the job take precedence.

    Examples
    --------
    >>> described({"parameters_m": 304, "precision": "bf16", "iteration_ms": 300}, {})
    {'gradient_mb': 608.0, 'minibatch': 1, 'forward_ms': 100.0, 'backward_ms': 200.0}
    """
    given = {key: stated[key] for key in DESCRIPTION_KEYS if key in stated}
    if not given and (not known or "forward_ms" in known):
        return {**known, **stated}  # the usual case
    own = {key: value for key, value in stated.items() if key not in given}
    fields = {**known, **own}
    for field, other, what in _ONE_OF:
        if field in given and other in own:
            raise InputError(f"and {other} both state {what}; keep one of them", field=field)
    fields |= _gradients(given, fields)
    if "bucket_mib" in given:
        fields["buckets"] = _buckets(given["bucket_mib"], fields["gradient_mb"])
    if "iteration_ms" in given:
        fields |= _passes(given["iteration_ms"], own.get("minibatch", 1))
    elif "forward_ms" not in fields and "backward_ms" not in fields:
        why = "the catalogue has no time for this model" if known else "or forward_ms and backward_ms"
        raise InputError(f"is missing; {why}", field="iteration_ms")
    micro_batches = given.get("accumulation", 1)
    num_batches = integer(micro_batches, "accumulation", minimum=1, maximum=MOST_MICRO_BATCHES)
    is_sharded = choice(given.get("sharding", "none"), "sharding", SHARDINGS) == "fsdp"
    if is_sharded or num_batches > 1:
        fields |= _exchange_of_several(num_batches, is_sharded, fields)
    return fields


def _gradients(given: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, float]:
    """Return the size of the gradients that are sent: what is stated, or parameters times their bytes."""
    num_bytes = BYTES[choice(given.get("precision", "fp32"), "precision", BYTES)]
    if "parameters_m" in given:
        parameters_m = number(given["parameters_m"], "parameters_m", minimum=0, maximum=MOST_PARAMETERS_M)
        return {"gradient_mb": parameters_m * num_bytes}
    if "gradient_mb" not in fields:
        raise InputError("is missing; or gradient_mb, or a model", field="parameters_m")
    gradient_mb = number(fields["gradient_mb"], "gradient_mb", minimum=0)
    return {"gradient_mb": gradient_mb * (num_bytes / BYTES_PER_PARAMETER)}


def _buckets(bucket_mib: object, gradient_mb: float) -> int:
    """Return how many buckets of this size the gradients make, at least one.

    DDP closes a bucket once it has reached its cap, so buckets are not smaller; its first one of 1 MiB
    is left out. `profile` rounds the same ratio, with the largest bucket measured.
    """
    cap_mib = number(bucket_mib, "bucket_mib", minimum=LEAST_BUCKET_MIB)
    return max(1, round(min(gradient_mb / (cap_mib * MB_PER_MIB), MOST_BUCKETS)))


def _passes(iteration_ms: object, minibatch: object) -> dict[str, Any]:
    """Return the times of both passes of one micro-batch, split 1 : 2."""
    both_ms = number(iteration_ms, "iteration_ms", above=0, maximum=MOST_MS)
    samples = integer(minibatch, "minibatch", minimum=1)
    forward_ms = both_ms * FORWARD_PART
    return {
        "minibatch": samples,
        "forward_ms": forward_ms / samples,
        "backward_ms": both_ms - forward_ms,
    }


def _exchange_of_several(num_batches: int, is_sharded: bool, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an iteration of several micro-batches, or of sharded parameters.

    With DDP, all but the last backward pass come before the exchange and hide none of it. With FSDP every
    micro-batch sends during both of its passes, so all its computation can hide communication: that is the
    model's backward pass.
    """
    for key in ("minibatch", "forward_ms", "backward_ms"):
        if key not in fields:
            raise InputError("is missing", field=key)
    samples = integer(fields["minibatch"], "minibatch", minimum=1)
    forward_ms = number(fields["forward_ms"], "forward_ms", minimum=0) * samples
    backward_ms = number(fields["backward_ms"], "backward_ms", minimum=0)
    if is_sharded:
        return {
            "gradient_mb": fields["gradient_mb"] * FSDP_BYTES * num_batches,
            "minibatch": 1,
            "forward_ms": 0.0,
            "backward_ms": num_batches * (forward_ms + backward_ms),
        }
    before_ms = num_batches * forward_ms + (num_batches - 1) * backward_ms
    return {"minibatch": 1, "forward_ms": before_ms, "backward_ms": backward_ms}
