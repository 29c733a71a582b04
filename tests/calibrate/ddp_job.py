"""A DDP job for the tests of `ringsched profile`: it runs by a Python that has torch, without ringsched.

Prints a checksum of its parameters, its loss and its random state, which the hook must not change.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import socket
import sys
import time
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Mixed(torch.nn.Module):  # type: ignore[misc]
    """Two layers of float32, one of float64, and one whose output is not used."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)
        self.wide, self.unused = torch.nn.Linear(64, 8).double(), torch.nn.Linear(16, 16)

    def forward(self, batch: dict[str, Any]) -> Any:
        return self.wide(self.second(self.first(batch["x"])).double()).float()


def models(given: argparse.Namespace) -> list[Any]:
    if given.kind == "mixed":
        unused = DistributedDataParallel(Mixed(), find_unused_parameters=True)
        return [unused, DistributedDataParallel(torch.nn.Linear(64, 1))]
    layers = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(6)))
    return [DistributedDataParallel(layers, bucket_cap_mb=0.12, static_graph=given.kind == "static")]


def loss_of(model: Any, given: argparse.Namespace) -> Any:
    if given.kind != "mixed":
        return model(torch.randn(8, 512)).pow(2).mean()
    inputs = torch.randn(8, 64)
    # The small module has the first call: the largest must not be found by its place.
    return model(inputs if isinstance(model.module, torch.nn.Linear) else {"x": inputs}).pow(2).mean()


def train(rank: int, given: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(7 + rank)
    dist.init_process_group("gloo", rank=rank, world_size=given.ranks)
    trained = models(given)
    optimizer = torch.optim.SGD([each for model in trained for each in model.parameters()], lr=0.01)
    loss = torch.zeros(())
    for step in range(given.steps):
        for model in reversed(trained):
            for micro_batch in range(given.accumulate):
                last = micro_batch == given.accumulate - 1
                with contextlib.nullcontext() if last else model.no_sync():
                    loss = loss_of(model, given)
                    loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 15:
            with torch.no_grad():
                loss_of(trained[0], given)
            time.sleep(0.5)  # as an evaluation takes its time
        if given.kind == "crash" and step == 3:
            raise ValueError("the loss is wrong")
    digest = hashlib.sha256(repr(float(loss.detach())).encode())
    for parameter in (each for model in trained for each in model.parameters()):
        digest.update(parameter.detach().numpy().tobytes())
    digest.update(torch.random.get_rng_state().numpy().tobytes())
    dist.barrier()
    print(f"rank {rank} digest {digest.hexdigest()}", flush=True)
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["plain", "static", "mixed", "crash", "without-ddp"])
    parser.add_argument("--spawn", dest="ranks", type=int)
    parser.add_argument("--method", default="spawn")
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--accumulate", type=int, default=1)
    given = parser.parse_args()
    if given.kind == "without-ddp":
        sys.exit(0)
    if given.ranks is None:
        given.ranks = int(os.environ["WORLD_SIZE"])
        train(int(os.environ["RANK"]), given)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]))
    torch.multiprocessing.start_processes(train, args=(given,), nprocs=given.ranks, start_method=given.method)


if __name__ == "__main__":
    main()
