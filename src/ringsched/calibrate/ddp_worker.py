"""One rank of a real DistributedDataParallel job over gloo, for the testbed.

The testbed starts this file with a Python that has PyTorch, and so can torchrun. It imports nothing of
ringsched, and runs on Python 3.9 or newer with any PyTorch from 1.13 on. The settings are the first argument,
as JSON. The result is one line of JSON on standard output.

The model has as many layers as the job has buckets. A layer computes by sleeping, as a GPU computes
without the CPU. Its gradient is ready when its part of the backward pass is over, and fills one bucket.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    del sys.path[0]  # the directory of this file, whose `profile` would hide that of the standard library

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

DEFAULTS = {
    "message_mb": 8.0,
    "compute_s": 0.0,
    "backward_s": 0.0,
    "buckets": 1,
    "iterations": None,
    "seconds": None,
    "start_s": 0.0,
    "timeout_s": 60.0,
    "gate": None,  # where to report that this rank is ready, and to read when it begins
}
BYTES = 4  # of a float32
MIB = 1 << 20


class Sleep(torch.autograd.Function):
    """A layer whose passes take a given time."""

    @staticmethod
    def forward(context: Any, value: Any, weight: Any, layer: Any) -> Any:
        """Compute for the time of the layer's forward pass."""
        context.layer, context.shape = layer, weight.shape
        time.sleep(layer.forward_s)
        return value.clone()

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        """Compute for the time of the layer's backward pass; then the gradient of the weight is ready."""
        layer = context.layer
        time.sleep(layer.backward_s)
        filled = torch.full(context.shape, float(layer.rank + 1))
        filled[-1] = layer.vote
        return gradient, filled, None


class Layer(torch.nn.Module):
    """A layer with one weight, which is one bucket."""

    def __init__(self, elements: int, rank: int, forward_s: float, backward_s: float) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(elements))
        self.rank, self.forward_s, self.backward_s = rank, forward_s, backward_s
        self.vote = 0.0  # above 0: stop after this iteration

    def forward(self, value: Any) -> Any:
        """Return the value after the time of the forward pass."""
        return Sleep.apply(value, self.weight, self)


def model_of(settings: dict[str, Any]) -> Any:
    """Return the job's model, wrapped so that each layer is one bucket."""
    num_layers = settings["buckets"]
    elements = max(2, round(settings["message_mb"] * 1e6 / BYTES / num_layers))
    forward_s = (settings["compute_s"] - settings["backward_s"]) / num_layers
    layers = [
        Layer(elements, dist.get_rank(), forward_s, settings["backward_s"] / num_layers)
        for _ in range(num_layers)
    ]
    # DDP closes a bucket once it has reached its cap; its own first cap is 1 MiB.
    dist._DEFAULT_FIRST_BUCKET_BYTES = 1
    cap_mib = elements * BYTES / MIB
    return DistributedDataParallel(
        torch.nn.Sequential(*layers), bucket_cap_mb=cap_mib, gradient_as_bucket_view=True
    )


def train(settings: dict[str, Any]) -> dict[str, Any]:
    """Run iterations until they are done, or until all ranks have voted to stop."""
    torch.set_num_threads(1)
    # Rank, world size and the address of rank 0 are in the environment.
    dist.init_process_group("gloo", timeout=timedelta(seconds=settings["timeout_s"]))
    model = model_of(settings)
    first = model.module[0]  # its gradient is ready last
    value = torch.zeros(1, requires_grad=True)
    warm_up(model, value)
    if settings["gate"] is not None:
        begin_s = beginning(*settings["gate"])
        time.sleep(max(0.0, begin_s + settings["start_s"] - time.monotonic()))
    waited_s = waiting_s()
    end_s = None if settings["seconds"] is None else time.monotonic() + settings["seconds"]
    iterations: list[tuple[float, float]] = []
    while settings["iterations"] is None or len(iterations) < settings["iterations"]:
        begun_s = time.monotonic()
        first.vote = float(end_s is not None and begun_s >= end_s)
        step(model, value)
        iterations.append((begun_s, time.monotonic() - begun_s))
        check(first)
        if float(first.weight.grad[-1]) > 0:
            break
    result = {
        "iterations": iterations,
        "bucket_bytes": bucket_bytes(model),
        "waited_s": waiting_s() - waited_s,
    }
    with contextlib.suppress(RuntimeError):  # a rank that left this barrier first may break it for another
        dist.barrier()
    return result


def warm_up(model: Any, value: Any) -> None:
    """Do the first iterations, in which DDP connects and rebuilds its buckets, without computation."""
    times = [(layer.forward_s, layer.backward_s) for layer in model.module]
    for layer in model.module:
        layer.forward_s = layer.backward_s = 0.0
    for _ in range(3):
        step(model, value)
    for layer, (forward_s, backward_s) in zip(model.module, times):  # noqa: B905 - Python 3.9
        layer.forward_s, layer.backward_s = forward_s, backward_s
    dist.barrier()


def beginning(tell_ready: int, begin: int) -> float:
    """Report that this rank is ready, and return when all jobs begin, by CLOCK_MONOTONIC."""
    os.write(tell_ready, b".")
    return float(struct.unpack("d", os.read(begin, 8))[0])


def step(model: Any, value: Any) -> None:
    """Do one iteration; DDP has exchanged all gradients when the backward pass returns."""
    model.zero_grad(set_to_none=False)
    model(value).sum().backward()


def check(layer: Layer) -> None:
    """Raise unless the gradient is the mean over all ranks."""
    found, expected = float(layer.weight.grad[0]), (dist.get_world_size() + 1) / 2
    if abs(found - expected) > 1e-3 * expected:
        raise RuntimeError(f"rank {dist.get_rank()} has the gradient {found}, not {expected}")


def bucket_bytes(model: Any) -> list[int]:
    """Return the sizes of the buckets that DDP uses."""
    recorded = model._get_ddp_logging_data()
    text = str(recorded.get("rebuilt_bucket_sizes") or recorded.get("bucket_sizes") or "")
    return [int(size) for size in text.replace(",", " ").split()]


def waiting_s() -> float:
    """Return how long this process has waited for a core so far; 0 where the kernel does not say."""
    try:
        return int(Path("/proc/self/schedstat").read_text().split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0


def main() -> None:
    """Train, and print the result or the error."""
    try:
        result = train(DEFAULTS | json.loads(sys.argv[1]))
    except Exception as error:  # whatever it is, the testbed reports it
        result = {"error": f"a DDP rank failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}"}
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()
    os._exit(0)  # to destroy the process group would fail where another rank has left it


if __name__ == "__main__":
    main()
