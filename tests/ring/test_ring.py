"""Ring all-reduce on real vectors, and the model's terms as what it moves."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scenarios import cluster, job

from ringsched import InputError, Scenario, Server
from ringsched.contention.iteration_time import work_of
from ringsched.engine.problem import problem_of
from ringsched.ring import SHARE_ONLY, SHARE_REDUCE, Step, all_reduce, chunks_of, ring_steps

workers = st.integers(1, 9)
sizes = st.integers(0, 40)


def vectors_of(num_workers: int, size: int, dtype: str, seed: int = 0) -> Any:
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return generator.integers(0, 100, (num_workers, size)).astype(dtype)
    return (generator.standard_normal((num_workers, size)) * 1e3).astype(dtype)


@given(workers, sizes, st.sampled_from(["int64", "uint8", "int32"]), st.integers(0, 99))
def test_integers_are_summed_exactly(num_workers: int, size: int, dtype: str, seed: int) -> None:
    vectors = vectors_of(num_workers, size, dtype, seed)
    expected = vectors.sum(axis=0, dtype=dtype)
    run = all_reduce(vectors)
    assert all(np.array_equal(vector, expected) and vector.dtype == dtype for vector in run.vectors)


@given(workers, sizes, st.sampled_from(["float64", "float32", "complex128"]), st.integers(0, 99))
def test_floats_are_the_same_bits_for_all_workers(num_workers: int, size: int, dtype: str, seed: int) -> None:
    vectors = vectors_of(num_workers, size, dtype, seed)
    run = all_reduce(vectors)
    assert len({vector.tobytes() for vector in run.vectors}) == 1
    np.testing.assert_allclose(run.vectors[0], vectors.sum(axis=0), rtol=1e-5, atol=1e-2)


@given(workers, sizes)
def test_bytes_of_any_ring(num_workers: int, size: int) -> None:
    """All workers together send and receive 2d(w-1) and add d(w-1); 2(w-1) steps."""
    run = all_reduce(vectors_of(num_workers, size, "float32"))
    d = 4 * size
    assert run.num_steps == 2 * (num_workers - 1)
    assert sum(run.sent_bytes) == sum(run.received_bytes) == 2 * d * (num_workers - 1)
    assert sum(run.added_bytes) == d * (num_workers - 1)
    assert run.server_worker_bytes == 2 * num_workers * d
    # A worker leaves out one chunk of each phase: no two differ by more than one element a phase.
    assert max(run.sent_bytes) - min(run.sent_bytes) <= 2 * 4


@given(st.integers(1, 9), st.integers(0, 9))
def test_bytes_of_a_worker_where_w_divides_d(num_workers: int, elements_a_chunk: int) -> None:
    """Each sends and receives 2d(w-1)/w, in steps of d/w."""
    vectors = vectors_of(num_workers, num_workers * elements_a_chunk, "float64")
    d = 8 * num_workers * elements_a_chunk
    run = all_reduce(vectors)
    assert set(run.sent_bytes) == set(run.received_bytes) == {2 * d * (num_workers - 1) // num_workers}
    for step in ring_steps(list(vectors)):
        assert {transfer.bytes for transfer in step.transfers} == {d // num_workers}


@pytest.mark.parametrize("gpus", [1, 2, 3, 4, 7, 8, 16, 32])
def test_the_exchange_term_of_the_model_is_what_the_ring_moves(gpus: int) -> None:
    """2m(w-1)/w of eq. (8) as bytes through each worker's link, m(w-1)/w as bytes it adds up."""
    num_bytes = 4 * gpus * 30
    run = all_reduce(vectors_of(gpus, gpus * 30, "float32"))
    servers = cluster(gpus, reduce_gbps=2)
    work = work_of(job(gpus=gpus, gradient_mb=num_bytes / 1e6), servers)
    for sent, received, added in zip(run.sent_bytes, run.received_bytes, run.added_bytes, strict=True):
        assert work.exchange_gbit == pytest.approx(sent * 8e-9, rel=1e-12)
        assert work.exchange_gbit == pytest.approx(received * 8e-9, rel=1e-12)
        assert work.reduce_s == pytest.approx(added * 8e-9 / servers.reduce_gbps, rel=1e-12)


@given(st.integers(2, 12), st.integers(0, 50))
def test_the_exchange_term_is_the_mean_over_workers_for_any_length(gpus: int, size: int) -> None:
    run = all_reduce(vectors_of(gpus, size, "float32"))
    work = work_of(job(gpus=gpus, gradient_mb=4 * size / 1e6), cluster(gpus))
    assert work.exchange_gbit == pytest.approx(sum(run.sent_bytes) / gpus * 8e-9)


def test_every_crossed_uplink_carries_the_exchange_term_once_each_way() -> None:
    """However many workers are below it: why B is an uplink's speed, not that divided by workers."""
    servers = tuple(Server(name=name, gpus=2, switch=rack) for name, rack in zip("abcd", "xxyy", strict=True))
    tree = cluster(servers=servers, switches={"x": 40, "y": 40})
    ring = problem_of(Scenario(cluster=tree, jobs=(job(gpus=8),))).ring(range(8))
    rack_of = {server.name: server.switch for server in servers}
    up: Counter[str] = Counter()
    down: Counter[str] = Counter()

    def count(step: Step, vectors: Any) -> None:
        for transfer in step.transfers:
            sender, receiver = ring[transfer.sender][0], ring[transfer.receiver][0]
            if sender != receiver:
                up[sender] += transfer.bytes
                down[receiver] += transfer.bytes
            if rack_of[sender] != rack_of[receiver]:
                up[f"rack {rack_of[sender]}"] += transfer.bytes
                down[f"rack {rack_of[receiver]}"] += transfer.bytes

    run = all_reduce(vectors_of(8, 80, "float64"), on_step=count)
    assert set(up) == set(down) == {"a", "b", "c", "d", "rack x", "rack y"}
    assert set(up.values()) == set(down.values()) == set(run.sent_bytes)


def test_figure_1() -> None:
    """Three workers: reduced in two steps, shared in two."""
    frames = []
    run = all_reduce(
        [[1, 2, 3], [10, 20, 30], [100, 200, 300]],
        on_step=lambda step, vectors: frames.append((step.phase, [v.tolist() for v in vectors])),
    )
    assert frames == [
        (SHARE_REDUCE, [[1, 2, 303], [11, 20, 30], [100, 220, 300]]),
        (SHARE_REDUCE, [[1, 222, 303], [11, 20, 333], [111, 220, 300]]),
        (SHARE_ONLY, [[111, 222, 303], [11, 222, 333], [111, 220, 333]]),
        (SHARE_ONLY, [[111, 222, 333]] * 3),
    ]
    assert run.num_steps == 4


def test_vectors_given_are_left_alone() -> None:
    vectors = [np.ones(4), np.ones(4)]
    all_reduce(vectors)
    assert all(np.array_equal(vector, np.ones(4)) for vector in vectors)


@given(st.integers(0, 50), st.integers(1, 12))
def test_chunks_cover_the_vector(size: int, num_workers: int) -> None:
    chunks = chunks_of(size, num_workers)
    assert [at for chunk in chunks for at in range(chunk.start, chunk.stop)] == list(range(size))
    lengths = [chunk.stop - chunk.start for chunk in chunks]
    assert max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize(
    ("vectors", "complaint"),
    [
        ([], "vectors must hold one vector for each worker"),
        ([[1, 2], [1]], r"vectors\[1\] must be like the first, 2 numbers of type int64, not 1 of type int64"),
        ([[1, 2], [1.0, 2.0]], r"vectors\[1\] must be like the first"),
        ([[True]], r"vectors\[0\] must be a vector of numbers"),
        ([["a"]], r"vectors\[0\] must be a vector of numbers"),
        ([[[1]]], r"vectors\[0\] must be a vector of numbers"),
        ([[[1], [1, 2]]], r"vectors\[0\] must be a vector of numbers"),
        ([3], r"vectors\[0\] must be a vector of numbers"),
    ],
)
def test_what_is_no_ring(vectors: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        all_reduce(vectors)
