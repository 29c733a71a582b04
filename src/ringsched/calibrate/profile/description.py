"""From what the ranks measured to the description of a job."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any, NamedTuple

from ringsched.calibrate.profile.command import Observed, observe
from ringsched.errors import InputError
from ringsched.formats.decode import parse_toml
from ringsched.formats.files import check_writable, read_text, write_text
from ringsched.formatting import counted, figure, listed
from ringsched.model import Job
from ringsched.model.checks import number

SKIPPED_FIRST = 3  # iterations: buckets are rebuilt, memory is allocated, kernels are compiled
FEWEST = 5  # iterations that a description may rest on
CUDA_BLOCK = 10  # iterations; the CPU runs ahead of the GPU and waits for it now and then
APART = 0.1  # of the iteration: ranks whose times differ by more are reported


class Spread(NamedTuple):
    """A duration over the iterations of a run: the median and the quartiles, in ms."""

    median_ms: float
    low_ms: float
    high_ms: float

    @property
    def relative(self) -> float:
        """The interquartile range as a fraction of the median."""
        return (self.high_ms - self.low_ms) / self.median_ms if self.median_ms > 0 else 0.0

    def __str__(self) -> str:
        return f"{figure(self.median_ms)} ms ({figure(self.low_ms)} to {figure(self.high_ms)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProfile:
    """A job as it was measured; `job` is its entry for a scenario."""

    job: Job
    bucket_mb: tuple[float, ...]
    iteration: Spread
    forward: Spread
    backward: Spread
    exposed: Spread
    samples: int  # iterations that the times rest on
    confidence: str
    notes: tuple[str, ...]

    @property
    def other_ms(self) -> float:
        """What is neither forward pass, last backward pass nor exchange: optimizer, data, accumulation."""
        known_ms = self.forward.median_ms + self.backward.median_ms + self.exposed.median_ms
        return max(0.0, self.iteration.median_ms - known_ms)

    def as_data(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        spreads = {
            name: getattr(self, name)._asdict() for name in ("iteration", "forward", "backward", "exposed")
        }
        return {
            "job": _fields(self.job),
            "bucket_mb": list(self.bucket_mb),
            **spreads,
            "other_ms": self.other_ms,
            "samples": self.samples,
            "confidence": self.confidence,
            "notes": list(self.notes),
        }

    def as_toml(self) -> str:
        """Return the `[[jobs]]` entry, with what it rests on as comments."""
        fields = _fields(self.job)
        sizes = ", ".join(figure(size) for size in self.bucket_mb[:12]) + (
            ", ..." if self.bucket_mb[12:] else ""
        )
        comments = {
            "gradient_mb": f"{counted(len(self.bucket_mb), 'bucket')} of {sizes} MB",
            "forward_ms": f"per sample; the optimizer and the data, {figure(self.other_ms)} ms, are included",
            "buckets": "the gradients over the largest bucket",
            "backward_ms": f"quartiles {figure(self.backward.low_ms)} to {figure(self.backward.high_ms)}",
        }
        lines = [
            "[[jobs]]",
            f"# measured over {counted(self.samples, 'iteration')}, confidence {self.confidence}",
            f"# iteration {self.iteration}, of which exposed exchange {self.exposed}",
            *(f"# {note}" for note in self.notes),
        ]
        for name, value in fields.items():
            comment = f"  # {comments[name]}" if name in comments else ""
            lines.append(f"{name} = {json.dumps(value, ensure_ascii=False)}{comment}")
        return "\n".join(lines) + "\n"


def profile_job(
    command: Sequence[str],
    *,
    name: str | None = None,
    iterations: int | None = None,
    time_limit_s: float | None = None,
    echo: Callable[[bytes], object] | None = None,
) -> JobProfile:
    """Run a PyTorch command and return the job it is.

    Parameters
    ----------
    command
        The program and its arguments, such as `["torchrun", "--nproc-per-node=2", "train.py"]`.
    name
        The job's name; that of the script if absent.
    iterations
        How many iterations the job will have; as many as ran if absent.
    time_limit_s
        When to end the command and describe what ran until then.
    echo
        Receives the command's output as it comes.
    """
    if time_limit_s is not None:
        number(time_limit_s, "time_limit_s", above=0)
    observed = observe(command, time_limit_s=time_limit_s, echo=echo)
    return describe(observed, name=name or name_of(command), iterations=iterations)


def name_of(command: Sequence[str]) -> str:
    """Return the name of the script in a command, else that of the program.

    Examples
    --------
    >>> name_of(["torchrun", "--nproc-per-node=2", "src/train.py", "--epochs", "3"])
    'train'
    """
    scripts = [part for part in command if part.endswith(".py")]
    return Path(scripts[0] if scripts else command[0]).stem


def describe(observed: Observed, *, name: str, iterations: int | None = None) -> JobProfile:
    """Return the job that the ranks of a run describe together."""
    ranks, notes = _largest_modules(observed)
    facts = ranks[0]
    world_size, bucket_bytes = facts["world_size"], facts["bucket_bytes"]
    wire_bytes = facts["halved_bytes"] or sum(bucket_bytes)
    if len(ranks) < world_size:
        notes.append(
            f"{len(ranks)} of {world_size} ranks were seen; other ranks run elsewhere or left no record"
        )
    if facts["comm_hook"]:
        notes.append(f"the communication hook {facts['comm_hook']} may send other sizes than gradient_mb")
    if facts["cuda"]:
        notes.append("times of forward and backward are CUDA event times of DDP")
    measured, micro_batches, per_rank_ms = _times(ranks)
    minibatch = round(median(entry[2] for rank in ranks for entry in rank["iterations"]))
    if minibatch < 1:
        minibatch = 1
        notes.append("the minibatch is not visible; forward_ms is that of the whole minibatch")
    if micro_batches > 1:
        notes.append(f"gradient accumulation: {micro_batches} micro-batches per exchange, all in minibatch")
    if observed.stopped:
        notes.append("ended by the time limit" + ("" if iterations else "; set iterations"))
    slowest_ms, fastest_ms = max(per_rank_ms), min(per_rank_ms)
    if slowest_ms - fastest_ms > APART * measured["iteration"].median_ms:
        notes.append(f"ranks compute {figure(fastest_ms)} to {figure(slowest_ms)} ms; the slowest counts")
    samples = len(measured["parts"])
    whole, backward, exposed = measured["iteration"], measured["backward"], measured["exposed"]
    # All but the backward pass and the exchange, so that the model's iteration is the measured one.
    before_ms = max(0.0, whole.median_ms - backward.median_ms - exposed.median_ms)
    job = Job(
        name=name,
        gpus=world_size,
        iterations=iterations or max(rank["forwards"] for rank in ranks),
        gradient_mb=wire_bytes / 1e6,
        minibatch=minibatch,
        forward_ms=_rounded(before_ms / minibatch),
        backward_ms=_rounded(backward.median_ms),
        buckets=max(1, round(sum(bucket_bytes) / max(bucket_bytes))),
    )
    return JobProfile(
        job=job,
        bucket_mb=tuple(size * wire_bytes / sum(bucket_bytes) / 1e6 for size in bucket_bytes),
        iteration=whole,
        forward=measured["forward"],
        backward=backward,
        exposed=exposed,
        samples=samples,
        confidence=_confidence(samples, whole, backward),
        notes=tuple(notes),
    )


def _largest_modules(observed: Observed) -> tuple[list[dict[str, Any]], list[str]]:
    """Return each rank's largest DDP module that was trained, and notes; raise if there is none."""
    if not observed.python:
        raise InputError(
            "ran no Python that loads the hook; python -I, -E and -S ignore PYTHONPATH", field="COMMAND"
        )
    if not observed.torch:
        raise InputError("never imported torch; give a command that trains with PyTorch", field="COMMAND")
    if errors := [rank["error"] for rank in observed.ranks if rank["error"]]:
        raise InputError(f"uses a PyTorch that the hook cannot read ({errors[0]})", field="COMMAND")
    if not any(rank["modules"] for rank in observed.ranks):
        raise InputError("wrapped no model in DistributedDataParallel", field="COMMAND")
    ranks = []
    for process in observed.ranks:
        trained = [module for module in process["modules"] if module["forwards"]]
        if trained:
            ranks.append(max(trained, key=lambda module: (sum(module["bucket_bytes"]), module["forwards"])))
    if not ranks:
        raise InputError("ran no forward pass of its DistributedDataParallel model", field="COMMAND")
    ranks.sort(key=lambda rank: rank["rank"])
    for what, key in (("world size", "world_size"), ("bucket sizes in bytes", "bucket_bytes")):
        values = {json.dumps(rank[key]): rank["rank"] for rank in reversed(ranks)}
        if len(values) > 1:
            said = listed([f"{value} on rank {rank}" for value, rank in list(values.items())[:3]])
            raise InputError(f"has ranks that disagree about the {what}: {said}", field="COMMAND")
    if len({rank["rank"] for rank in ranks}) < len(ranks):
        raise InputError("ran more than one job; profile them one by one", field="COMMAND")
    names = [module["name"] for module in observed.ranks[0]["modules"] if module["forwards"]]
    notes = [f"of the DDP modules {listed(names)}, the largest is described"] if len(names) > 1 else []
    return ranks, notes


def _times(ranks: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], int, list[float]]:
    """Return the spreads, the micro-batches per exchange, and the ms of compute by rank."""
    last = max(rank["forwards"] for rank in ranks)

    def counted_only(entries: Sequence[Sequence[int]]) -> dict[int, Sequence[int]]:
        return {entry[0]: entry for entry in entries if SKIPPED_FIRST < entry[0] < last}

    whole = counted_only(ranks[0]["iterations"])
    by_rank = [counted_only(rank["parts"]) for rank in ranks]
    common = sorted(set(whole).intersection(*by_rank))
    if len(common) < FEWEST:
        raise InputError(
            f"trained for {counted(last, 'iteration')}, of which {len(common)} could be measured on every "
            f"rank; at least {FEWEST} are needed beside the first {SKIPPED_FIRST} and the last",
            field="COMMAND",
        )
    # A rank that waits for other ranks has a long exchange: in each iteration the slowest rank counts.
    parts = [min((each[number] for each in by_rank), key=lambda entry: entry[3]) for number in common]
    whole_ms = [whole[number][1] / 1e6 for number in common]
    if ranks[0]["cuda"]:
        whole_ms = [entry[1] / 1e6 for _, entry in sorted(whole.items())]
        blocks = range(0, max(1, len(whole_ms) - CUDA_BLOCK + 1), CUDA_BLOCK)
        whole_ms = [fmean(whole_ms[start : start + CUDA_BLOCK]) for start in blocks]
    measured = {"iteration": _spread(whole_ms), "parts": parts}
    for column, part in ((1, "forward"), (2, "backward"), (3, "exposed")):
        measured[part] = _spread([entry[column] / 1e6 for entry in parts])
    compute_ms = [median((entry[1] + entry[2]) / 1e6 for entry in each.values()) for each in by_rank]
    return measured, round(median(entry[3] for entry in whole.values())), compute_ms


def _spread(values: Sequence[float]) -> Spread:
    low, middle, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return Spread(_rounded(middle), _rounded(low), _rounded(high))


def _confidence(samples: int, whole: Spread, backward: Spread) -> str:
    """Return high, medium or low by the number of iterations and how much they differ."""
    spread = max(whole.relative, backward.relative)
    if samples >= 30 and spread <= 0.05:
        return "high"
    return "medium" if samples >= 10 and spread <= 0.2 else "low"


def _rounded(value: float) -> float:
    return round(value, 4)


def _fields(job: Job) -> dict[str, Any]:
    wanted = (
        "name",
        "gpus",
        "iterations",
        "gradient_mb",
        "minibatch",
        "forward_ms",
        "backward_ms",
        "buckets",
    )
    given = asdict(job)
    return {name: given[name] for name in wanted}


def check_can_append(path: Path, name: str) -> None:
    """Raise if an entry of this name cannot be added to a TOML file, before any work is done for it."""
    check_writable(path)
    if not path.exists():
        return
    content = parse_toml(path) if path.stat().st_size else {}
    if "jobs_file" in content:
        raise InputError("has its jobs in another file; write to a new file", file=str(path))
    jobs = content.get("jobs", [])
    if not isinstance(jobs, list):
        raise InputError("must be an array of tables", field="jobs", file=str(path))
    if name in [job.get("name") for job in jobs if isinstance(job, dict)]:
        raise InputError(f"already has a job {name!r}; choose another --name", file=str(path))


def append_entry(profile: JobProfile, path: Path) -> None:
    """Add the entry to a TOML file, or write a new one."""
    check_can_append(path, profile.job.name)
    before = read_text(path).rstrip("\n") + "\n\n" if path.exists() and path.stat().st_size else ""
    text = before + profile.as_toml()
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:  # jobs = [...] cannot be added to
        raise InputError("has its jobs in one line; write to a new file", file=str(path)) from None
    write_text(path, text)
