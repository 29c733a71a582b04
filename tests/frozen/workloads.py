"""What `ringsched generate` printed before there was one generator; run this module to record it again.

The records were made by the four generators of the first version. Record again only where a change of
the bytes is intended.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.cli.helpers import run

RECORDS = Path(__file__).parent / "workloads.jsonl"

_SEEDS = (0, 1, 7, 24, 123456789)
_LIKE = "--servers 6 --gpus-per-server 4 --jobs 9 --size-mix 2"
_ALL = (
    "--servers 7 --gpus-per-server 16 --racks 3 --jobs 90 --size-mix 1:5,4:2,16 --model-mix vision "
    "--min-duration 2h --max-duration 3h --inter-server-gbps 25 --rack-uplink-gbps 50 --slot 60"
)
_REFUSED_LIKE = (
    "--seed -1", "--servers 0", "--servers 1000000", "--gpus-per-server 0", "--racks 9", "--racks -1",
    "--rack-uplink-gbps 9", "--rack-uplink-gbps 0 --racks 2", "--jobs 0", "--jobs 1000001", "--size-mix 64",
    "--size-mix phily", "--size-mix 1:x", "--size-mix 1,1", "--model-mix resnet", "--model-mix resnet50:0",
    "--min-duration 0h", "--max-duration inf", "--min-duration 30h", "--inter-server-gbps 0",
    "--inter-server-gbps 1e-300 --size-mix 16", "--slot 0", "--slot 0.01",
)  # fmt: skip

CASES = (
    *(f"paper --seed {seed}" for seed in _SEEDS),
    *(f"paper --seed {seed} --contention-share {share}" for seed in (0, 31) for share in (0, 0.05, 0.3)),
    *(f"paper --seed 7 --servers {servers} {more}" for servers in (10, 14, 40) for more in ("", "--jobs 80")),
    *(f"paper --seed 3 --servers {servers} --share-servers 20" for servers in (10, 13, 20)),
    "paper --seed 2 --servers 20 --share-servers 10 --horizon 1500",
    "paper --seed 4 --contention-share 0 --servers 9 --jobs 16 --horizon none --share-servers 12",
    "paper --jobs 1 --contention-share 0.01",
    "paper --jobs 0",
    "paper --jobs 10001",
    "paper --servers 0",
    "paper --servers 1",
    "paper --servers 10001",
    "paper --share-servers 1",
    "paper --contention-share 0.9",
    "paper --contention-share 1",
    "paper --contention-share -0.1",
    "paper --contention-share nan",
    "paper --horizon 0",
    "paper --horizon inf",
    "paper --seed -1",
    "paper --json",
    "paper --servers 100 --share-servers 4 --contention-share 0.65 --seed 1",
    *(f"uniform --seed {seed} {_LIKE}" for seed in _SEEDS),
    *(f"uniform --seed {seed} {_ALL} --submit-span 5h" for seed in _SEEDS),
    "uniform --servers 40 --jobs 400",
    "uniform --servers 40 --jobs 300 --size-mix philly --model-mix language --racks 5 --json",
    "uniform --servers 40 --jobs 300 --size-mix uniform --model-mix resnet50:3,vgg16 "
    "--submit-span 0.5h --slot 600",
    "uniform -q",
    *(f"uniform --servers 4 --jobs 12 --size-mix 1:3,4 {more}" for more in _REFUSED_LIKE),
    "uniform --servers 4 --jobs 12 --size-mix 1 --submit-span -1",
    *(
        f"{kind} --seed {seed} {more}"
        for kind in ("poisson", "diurnal")
        for seed in _SEEDS
        for more in (_LIKE, f"{_ALL} --load 0.5", "--jobs 500 --racks 8 --load 1.5")
    ),
    *(f"{kind} --jobs 400 --size-mix paper --model-mix language --json" for kind in ("poisson", "diurnal")),
    *(f"{kind} -q" for kind in ("poisson", "diurnal")),
    *(
        f"diurnal --seed 2 --jobs 300 --swing {swing} --peak-hour {hour}"
        for swing in (0, 0.3, 1)
        for hour in (0, 9, 24)
    ),
    *(
        f"{kind} --servers 4 --jobs 12 --size-mix 1:3,4 {more}"
        for kind in ("poisson", "diurnal")
        for more in (*_REFUSED_LIKE, "--load 0", "--load nan", "--load 1e7")
    ),
    *(f"diurnal {more}" for more in ("--swing 1.5", "--swing -1", "--peak-hour 25", "--peak-hour -1")),
)


def printed(case: str) -> dict[str, Any]:
    """Return what a command line prints: the scenario as a digest, the summary or the refusal in full."""
    result = run("generate", *case.split())
    digest = hashlib.sha256(result.stdout.encode()).hexdigest() if result.stdout else None
    return {"case": case, "exit_code": result.exit_code, "sha256": digest, "stderr": result.stderr}


def recorded() -> list[dict[str, Any]]:
    """Return the records, in their order."""
    return [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    RECORDS.write_text("".join(json.dumps(printed(case)) + "\n" for case in CASES), encoding="utf-8")
