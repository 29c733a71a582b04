"""Jobs as engineers describe them: what is derived, what is refused, and what stays as it was."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.helpers import FULL, csv_text, edited, refused, run, sentence, write_json

from ringsched.clusters.slurm.comments import comment_of, parse_comment
from ringsched.errors import InputError
from ringsched.formats.catalogue import CATALOGUE, COUNTED, QUOTED, READ, SOURCES, TIMED
from ringsched.formats.job_description import BYTES, DESCRIPTION_KEYS
from ringsched.formats.jobs import job_from_fields, job_given
from ringsched.formats.scenario import load_scenario, scenario_from_dict
from ringsched.model import Job, Scenario

NAMED = {"name": "a", "gpus": 2, "iterations": 10}
PLAIN = NAMED | {"gradient_mb": 100.0, "minibatch": 8, "forward_ms": 1.5, "backward_ms": 30.0}
DEFAULTS = {"accumulation": 1, "sharding": "none"}
MIB = 2**20

milliseconds = st.floats(0.01, 1e5)
millions = st.floats(0.1, 1e5)
micro_batches = st.integers(1, 64)


def job(**fields: Any) -> Job:
    return job_from_fields(NAMED | fields, "jobs[0]")


def scenario_of(*jobs: dict[str, Any]) -> Scenario:
    return scenario_from_dict(
        {"cluster": FULL["cluster"], "time": {"model": "continuous"}, "jobs": list(jobs)}
    )


# Derived fields, by hand.


@given(iteration_ms=milliseconds, parameters_m=millions, precision=st.sampled_from(sorted(BYTES)))
def test_size_and_time(iteration_ms: float, parameters_m: float, precision: str) -> None:
    made = job(iteration_ms=iteration_ms, parameters_m=parameters_m, precision=precision)
    sent = {"fp64": 8, "fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}[precision]
    assert made.gradient_mb == pytest.approx(parameters_m * 1e6 * sent / 1e6)
    assert made.forward_ms == pytest.approx(iteration_ms / 3)
    assert made.backward_ms == pytest.approx(2 * iteration_ms / 3)
    assert (made.minibatch, made.buckets) == (1, 1)


@given(iteration_ms=milliseconds, minibatch=st.integers(1, 4096))
def test_a_minibatch_changes_the_time_per_sample_only(iteration_ms: float, minibatch: int) -> None:
    made = job(iteration_ms=iteration_ms, parameters_m=1, minibatch=minibatch)
    assert made.minibatch == minibatch
    assert made.forward_ms == pytest.approx(iteration_ms / 3 / minibatch)
    assert made.compute_s == pytest.approx(iteration_ms * 1e-3)


@given(iteration_ms=milliseconds, count=micro_batches)
def test_only_the_last_backward_pass_of_several_overlaps(iteration_ms: float, count: int) -> None:
    made = job(iteration_ms=iteration_ms, parameters_m=1, accumulation=count)
    forward, backward = iteration_ms / 3, 2 * iteration_ms / 3
    assert made.backward_ms == pytest.approx(backward)
    assert made.forward_ms * made.minibatch == pytest.approx(count * forward + (count - 1) * backward)
    assert made.compute_s == pytest.approx(count * iteration_ms * 1e-3)


@given(count=micro_batches)
def test_accumulation_of_stated_times(count: int) -> None:
    made = job_from_fields(PLAIN | {"accumulation": count}, "jobs[0]")
    assert made.backward_ms == 30.0
    assert made.forward_ms * made.minibatch == pytest.approx(count * 1.5 * 8 + (count - 1) * 30.0)
    assert made.gradient_mb == 100.0


@given(parameters_m=millions, iteration_ms=milliseconds)
def test_half_precision_halves_what_is_sent(parameters_m: float, iteration_ms: float) -> None:
    full = job(parameters_m=parameters_m, iteration_ms=iteration_ms)
    half = job(parameters_m=parameters_m, iteration_ms=iteration_ms, precision="bf16")
    assert half == full.replace(gradient_mb=full.gradient_mb / 2)


@given(gradient_mb=st.floats(0, 1e6), bucket_mib=st.floats(0.01, 1e4))
def test_buckets_are_whole_caps(gradient_mb: float, bucket_mib: float) -> None:
    made = job(**{**PLAIN, "gradient_mb": gradient_mb, "bucket_mib": bucket_mib})
    ratio = gradient_mb * 1e6 / (bucket_mib * MIB)
    assert made.buckets >= 1
    assert made.buckets == 1 or abs(made.buckets - ratio) <= 0.5 + 1e-6 * ratio
    assert made.gradient_mb == gradient_mb


def test_buckets_of_a_known_job() -> None:
    """ResNet-50 in fp32 has 102 MB: four times 25 MiB, as DDP logs beside its first bucket of 1 MiB."""
    assert job(parameters_m=25.557, iteration_ms=100, bucket_mib=25).buckets == 4
    assert job(parameters_m=25.557, iteration_ms=100, bucket_mib=25, precision="fp16").buckets == 2
    assert job(parameters_m=1, iteration_ms=100, bucket_mib=25).buckets == 1


@given(parameters_m=millions, iteration_ms=milliseconds, count=micro_batches)
def test_fsdp_sends_half_more_and_all_of_the_computation_can_hide_it(
    parameters_m: float, iteration_ms: float, count: int
) -> None:
    stated = {"parameters_m": parameters_m, "iteration_ms": iteration_ms, "bucket_mib": 50}
    plain, sharded = job(**stated), job(**stated, sharding="fsdp", accumulation=count)
    assert sharded.gradient_mb == pytest.approx(1.5 * count * plain.gradient_mb)
    assert sharded.forward_ms == 0
    assert sharded.backward_ms == pytest.approx(count * iteration_ms)
    assert sharded.buckets == plain.buckets


def test_fsdp_is_exact_if_both_passes_hide_their_own_part() -> None:
    """With passes of 1 : 2 and messages of 1 : 2, hiding each in its own pass is hiding all in both."""
    iteration_s, exchange_s, parts = 0.3, 0.25, 5
    apart = sum(
        share * iteration_s + share * exchange_s - (1 - 1 / parts) * share * min(iteration_s, exchange_s)
        for share in (1 / 3, 2 / 3)
    )
    together = iteration_s + exchange_s - (1 - 1 / parts) * min(iteration_s, exchange_s)
    assert apart == pytest.approx(together)


# What is stated takes precedence over the catalogue.


def test_a_model_with_its_own_time_and_precision() -> None:
    made = job(model="resnet50", iteration_ms=120, precision="bf16")
    assert made.gradient_mb == CATALOGUE["resnet50"].gradient_mb / 2
    assert made.compute_s == pytest.approx(0.120)


def test_a_model_with_its_own_parameters() -> None:
    made = job(model="resnet50", parameters_m=10)
    assert made.gradient_mb == 40
    assert made.backward_ms == CATALOGUE["resnet50"].backward_ms


@pytest.mark.parametrize("stated", [{"forward_ms": 9.0}, {"backward_ms": 9.0}, {"gradient_mb": 9.0}])
def test_stated_fields_take_precedence(stated: dict[str, float]) -> None:
    made = job(model="resnet50", bucket_mib=25, **stated)
    assert {key: getattr(made, key) for key in stated} == stated


def test_a_new_value_replaces_the_other_ways_to_state_it(tmp_path: Path) -> None:
    path = write_json(tmp_path, edited({("jobs",): [PLAIN, {**NAMED, "name": "b", "model": "vgg16"}]}))

    def first(*overrides: str) -> Job:
        return load_scenario(path, overrides).jobs[0]

    assert first("jobs.a.parameters_m=10").gradient_mb == 40
    assert first("jobs.a.iteration_ms=90").backward_ms == 60
    assert first("jobs.a.bucket_mib=25").buckets == 4
    assert first("jobs.a.iteration_ms=90", "jobs.a.model=vgg16").backward_ms == 54
    again = ("jobs.a.iteration_ms=90", "jobs.a.forward_ms=1", "jobs.a.backward_ms=2")
    assert (first(*again).forward_ms, first(*again).backward_ms) == (1, 2)
    assert load_scenario(path, ["jobs.b.precision=fp16"]).jobs[1].gradient_mb == 263.2


# Bytes that must stay.


@given(
    stated=st.sampled_from(
        [
            PLAIN,
            {**PLAIN, "buckets": 3},
            *({**NAMED, "model": name} for name in TIMED),
            {**NAMED, "parameters_m": 25.5, "iteration_ms": 100},
        ]
    ),
    keys=st.sets(st.sampled_from(["accumulation", "sharding", "precision"])),
)
def test_defaults_change_no_byte(stated: dict[str, Any], keys: set[str]) -> None:
    added = {key: value for key, value in (DEFAULTS | {"precision": "fp32"}).items() if key in keys}
    if "gradient_mb" in stated:
        added.pop("precision", None)
    assert scenario_of(stated | added).sha256() == scenario_of(stated).sha256()


def test_plans_know_only_the_fields_of_the_model() -> None:
    stated = {
        **NAMED, "model": "bert-large-a100", "precision": "bf16", "accumulation": 4, "bucket_mib": 25
    }  # fmt: skip
    expanded = scenario_of(stated).expanded()["jobs"][0]
    assert not set(DESCRIPTION_KEYS) & set(expanded)
    assert job_from_fields(expanded, "jobs[0]") == scenario_of(stated).jobs[0]


def test_the_first_seven_models_keep_their_numbers() -> None:
    assert [(name, *known[1:5]) for name, known in list(CATALOGUE.items())[:7]] == [
        ("resnet50", 99.2, 16, 25.0, 37.0),
        ("vgg16", 526.4, 16, 36.0, 54.0),
        ("inception-v3", 103.0, 16, 35.0, 52.0),
        ("lstm-ptb", 251.8, 16, 32.0, 47.0),
        ("bert-base", 438.0, 4, 59.0, 119.0),
        ("gpt2-small", 498.0, 4, 142.0, 284.0),
        ("resnet18", 47.0, 128, 260.0, 519.0),
    ]


# The same job in every kind of file.


@given(
    iteration_ms=milliseconds,
    parameters_m=millions,
    precision=st.sampled_from(sorted(BYTES)),
    accumulation=micro_batches,
    bucket_mib=st.floats(1, 100),
    sharding=st.sampled_from(["none", "fsdp"]),
)
def test_files_agree(tmp_path_factory: pytest.TempPathFactory, **stated: Any) -> None:
    directory = tmp_path_factory.mktemp("files")
    fields = NAMED | stated
    rest = {"cluster": FULL["cluster"], "time": {"model": "continuous"}}
    as_json = write_json(directory, rest | {"jobs": [fields]})
    (directory / "jobs.csv").write_text(csv_text([list(fields.values())], list(fields)), newline="")
    as_csv = write_json(directory, rest | {"jobs_file": "jobs.csv"}, "csv.json")
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items())
    cluster = "inter_server_gbps = 10.0\nintra_server_gbps = 200.0\nreduce_gbps = 400.0\n"
    as_toml = directory / "queue.toml"
    as_toml.write_text(
        f"[cluster]\n{cluster}servers = [{{ gpus = 2 }}]\n[[jobs]]\n{lines}[time]\nmodel = 'continuous'"
    )
    wanted = load_scenario(as_json).jobs
    assert load_scenario(as_csv).jobs == wanted
    assert load_scenario(as_toml).jobs == wanted
    assert (job_given(",".join(f"{key}={value}" for key, value in fields.items())),) == wanted
    comment = comment_of({key: value for key, value in fields.items() if key != "name"})
    assert parse_comment(comment, "7") == wanted[0].replace(name="job-7")


# Wrong input.

SIZED = {"parameters_m": 10.0, "iteration_ms": 100.0}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "parameters twice": (SIZED | {"gradient_mb": 1.0}, "parameters_m and gradient_mb both state the size"),
    "precision of bytes": ({**PLAIN, "precision": "bf16"}, "precision and gradient_mb both state the size"),
    "forward twice": (SIZED | {"forward_ms": 1.0}, "iteration_ms and forward_ms both state the time"),
    "backward twice": (SIZED | {"backward_ms": 1.0}, "iteration_ms and backward_ms both state the time"),
    "buckets twice": (SIZED | {"bucket_mib": 25, "buckets": 2}, "bucket_mib and buckets both state"),
    "no size": ({"iteration_ms": 100.0}, "parameters_m is missing; or gradient_mb, or a model"),
    "no time": ({"parameters_m": 10.0}, "iteration_ms is missing; or forward_ms and backward_ms"),
    "no time of the model": ({"model": "vit-b-16"}, "iteration_ms is missing; the catalogue has no time"),
    "half a time": ({"parameters_m": 10.0, "forward_ms": 1.0, "minibatch": 1}, "backward_ms is missing"),
    "no minibatch": (
        {"parameters_m": 10.0, "forward_ms": 1.0, "backward_ms": 1.0, "accumulation": 2},
        "minibatch is missing",
    ),
    "iteration 0": (SIZED | {"iteration_ms": 0}, "iteration_ms must be a number > 0"),
    "iteration text": (SIZED | {"iteration_ms": "1 s"}, "iteration_ms must be a number > 0"),
    "iteration true": (SIZED | {"iteration_ms": True}, "iteration_ms must be a number > 0"),
    "iteration far": (SIZED | {"iteration_ms": 1e13}, "iteration_ms must be a number > 0 and <= 1e+12"),
    "parameters negative": (SIZED | {"parameters_m": -1}, "parameters_m must be a number >= 0"),
    "parameters far": (SIZED | {"parameters_m": 1e10}, "parameters_m must be a number >= 0 and <= 1e+09"),
    "precision name": (SIZED | {"precision": "bf61"}, "not 'bf61' (did you mean 'bf16'?)"),
    "precision number": (SIZED | {"precision": 16}, "precision must be one of fp64, fp32"),
    "accumulation 0": (SIZED | {"accumulation": 0}, "accumulation must be an integer >= 1, not 0"),
    "accumulation 2.5": (SIZED | {"accumulation": 2.5}, "accumulation must be an integer >= 1, not 2.5"),
    "accumulation far": (SIZED | {"accumulation": 10**7}, "accumulation must be at most 1000000"),
    "bucket 0": (SIZED | {"bucket_mib": 0}, "bucket_mib must be a number >= 0.001, not 0"),
    "bucket of text": (SIZED | {"bucket_mib": "x"}, "bucket_mib must be a number >= 0.001, not 'x'"),
    "sharding": (SIZED | {"sharding": "fsdp2"}, "sharding must be 'none' or 'fsdp', not 'fsdp2'"),
    "null": (SIZED | {"sharding": None}, "sharding must not be null"),
    "minibatch": (SIZED | {"minibatch": 0}, "minibatch must be an integer >= 1, not 0"),
    "gradients of text": (
        {**PLAIN, "gradient_mb": "x", "bucket_mib": 1},
        "gradient_mb must be a number >= 0",
    ),
    "near miss": (SIZED | {"iterations_ms": 1}, "unknown key 'iterations_ms' (did you mean 'iteration_ms'?)"),
}


@pytest.mark.parametrize(("stated", "expected"), WRONG.values(), ids=WRONG)
def test_wrong_fields_are_refused(tmp_path: Path, stated: dict[str, Any], expected: str) -> None:
    said = refused(tmp_path, write_json(tmp_path, edited({("jobs",): [NAMED | stated]})))
    assert "queue.json: jobs[0] 'a': " in said
    assert expected in said


@pytest.mark.parametrize("gradient_mb", [1e300, 1.7e308])
def test_sizes_without_measure(gradient_mb: float) -> None:
    assert job(**{**PLAIN, "gradient_mb": gradient_mb, "bucket_mib": 1}).buckets == 1_000_000_000
    made = {**PLAIN, "gradient_mb": gradient_mb, "sharding": "fsdp", "accumulation": 1000}
    if math.isinf(gradient_mb * 1500):
        with pytest.raises(InputError, match="gradient_mb must be a number >= 0, not inf"):
            job(**made)


# The catalogue.


@pytest.mark.parametrize("name", CATALOGUE)
def test_models_load_and_have_sources(name: str) -> None:
    known = CATALOGUE[name]
    made = job(model=name, **({} if name in TIMED else {"iteration_ms": 100}))
    assert made.gradient_mb == known.gradient_mb > 0
    assert known.family in ("vision", "language", "speech", "recommendation")
    for source in (known.source, known.size_source):
        assert SOURCES[source].title
        assert SOURCES[source].address.startswith("https://")
        assert SOURCES[source].evidence in (READ, COUNTED, QUOTED)
    if name not in TIMED:
        assert known.iteration_ms is None
        assert known.gpu == ""
        return
    assert known.iteration_ms is not None
    assert known.gpu.split()[0] in ("V100", "A100", "H100")
    assert made.compute_s == pytest.approx(known.iteration_ms * 1e-3)
    if known.computed_in:  # otherwise both passes are published
        assert made.backward_ms == pytest.approx(known.iteration_ms * 2 / 3, abs=0.1)
        assert name.endswith(known.gpu.split()[0].lower())


def test_times_are_those_of_the_published_throughput() -> None:
    """1200 and 2470 images/s in batches of 256; 55,995 tokens/s in 16 sequences of 2048."""
    assert CATALOGUE["resnet50-v100"].iteration_ms == pytest.approx(256 / 1200 * 1e3, abs=0.05)
    assert CATALOGUE["resnet50-a100"].iteration_ms == pytest.approx(256 / 2470 * 1e3, abs=0.05)
    assert CATALOGUE["mpt-350m-a100"].iteration_ms == pytest.approx(16 * 2048 / 55_995 * 1e3, abs=0.05)


def _decoder_m(layers: int, width: int, feed_forward: int, keys: int, tokens: int) -> float:
    """Return millions of parameters of a Llama-like model: no biases, embedding and head apart."""
    attention = 2 * width * width + 2 * width * keys
    return (2 * tokens * width + layers * (attention + 3 * width * feed_forward + 2 * width) + width) / 1e6


def _gpt2_m(layers: int, width: int) -> float:
    return (50_257 * width + 1024 * width + layers * (12 * width**2 + 13 * width) + 2 * width) / 1e6


def _bert_m(layers: int, width: int) -> float:
    embeddings = (30_522 + 512 + 2 + 2) * width
    return (embeddings + layers * (12 * width**2 + 13 * width) + width**2 + width) / 1e6


def _ncf_m(factors: int, layers: tuple[int, ...], users: int, items: int) -> float:
    dense = sum(above * below + below for above, below in pairwise(layers))
    return ((users + items) * (factors + layers[0] // 2) + dense + factors + layers[-1] + 1) / 1e6


@pytest.mark.parametrize(
    ("name", "counted_m"),
    [
        ("llama2-7b", _decoder_m(32, 4096, 11_008, 4096, 32_000)),
        ("mistral-7b", _decoder_m(32, 4096, 14_336, 1024, 32_000)),
        ("gpt2-xl", _gpt2_m(48, 1600)),
        ("gpt2-small", _gpt2_m(12, 768)),
        ("bert-base", _bert_m(12, 768)),
        ("ncf-v100", _ncf_m(64, (256, 256, 128, 64), 138_493, 26_744)),
    ],
)
def test_counted_sizes_follow_from_the_layers(name: str, counted_m: float) -> None:
    assert SOURCES[CATALOGUE[name].size_source].evidence == COUNTED
    assert CATALOGUE[name].parameters_m == pytest.approx(counted_m, rel=1e-3)


def test_there_are_models_of_every_family_and_gpu() -> None:
    assert len(CATALOGUE) >= 25
    assert {known.family for known in TIMED.values()} == {"vision", "language", "speech", "recommendation"}
    assert {known.gpu.split()[0] for known in TIMED.values()} == {"V100", "A100", "H100"}


def test_all_models_are_planned(tmp_path: Path) -> None:
    jobs = [
        {"name": name, "gpus": 4, "iterations": 5, "model": name, "precision": "bf16", "bucket_mib": 25}
        | ({} if name in TIMED else {"iteration_ms": 100})
        for name in CATALOGUE
    ]
    path = write_json(tmp_path, edited({("jobs",): jobs, ("time",): {"model": "continuous"}}))
    plan = tmp_path / "plan.json"
    assert run("plan", path, "--policy", "fifo", "-o", plan).exit_code == 0
    assert run("verify", path, plan).exit_code == 0


def test_words_select_models() -> None:
    listed = json.loads(run("models", "language", "H100", "--json").stdout)
    assert {model["name"] for model in listed} == {
        name for name, known in TIMED.items() if known.family == "language" and known.gpu.startswith("H100")
    }
    assert all(len(line) <= 110 for line in run("models").stdout.splitlines())
    assert "WORDS match no model: vision nothing" in sentence(run("models", "vision", "nothing"))
