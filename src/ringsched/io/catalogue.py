"""Known models, so that a job can say `model = "resnet50"` instead of four numbers.

fp32 gradients; times measured by others on V100-class GPUs. Where a source gives only the sum of
forward and backward it is split 1 : 2; Wang et al. give no minibatch, theirs is set to 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class KnownModel(NamedTuple):
    """Facts about one model; times are per iteration at this minibatch."""

    gradient_mb: float
    minibatch: int
    forward_ms_per_iteration: float
    backward_ms: float
    source: str

    def fields(self) -> dict[str, Any]:
        """Return the job fields it stands for; `forward_ms` of a job is per sample."""
        return {
            "gradient_mb": self.gradient_mb,
            "minibatch": self.minibatch,
            "forward_ms": self.forward_ms_per_iteration / self.minibatch,
            "backward_ms": self.backward_ms,
        }


_WANG = "Wang et al. 2020"
_MURI = "Muri (SIGCOMM '22)"

CATALOGUE: Mapping[str, KnownModel] = {
    "resnet50": KnownModel(99.2, 16, 25.0, 37.0, _WANG),
    "vgg16": KnownModel(526.4, 16, 36.0, 54.0, _WANG),
    "inception-v3": KnownModel(103.0, 16, 35.0, 52.0, _WANG),
    "lstm-ptb": KnownModel(251.8, 16, 32.0, 47.0, _WANG),
    "bert-base": KnownModel(438.0, 4, 59.0, 119.0, _MURI),
    "gpt2-small": KnownModel(498.0, 4, 142.0, 284.0, _MURI),
    "resnet18": KnownModel(47.0, 128, 260.0, 519.0, _MURI),
}
