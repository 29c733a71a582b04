"""The verifier's own copy of exchanges that meet by chance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.verify.iteration_time import fair_rates

# Number of rounds; each estimates the jobs that a job meets from the result of the round before.
TIMES = 2
# Number of jobs compared with all jobs at a time, to limit the memory.
AT_A_TIME = 512
Vector = NDArray[np.float64]
Normal = tuple[Vector, Vector]  # of each job: the mean, and the variance


def phased_taus(
    alone_gbps: Mapping[int, float],
    links_of: Mapping[int, Sequence[int]],
    speeds: Sequence[float],
    iterations: Vector,
) -> dict[int, float]:
    """Return tau of jobs whose exchanges share links fairly at each moment, and meet there by chance.

    Parameters
    ----------
    alone_gbps
        How fast each job exchanges with its links for itself.
    iterations
        What an iteration consists of: a row for each field of `Iteration`, a column for each job.
    """
    # The slowest they can be: every job exchanges all the time.
    crowded = fair_rates(alone_gbps, links_of, speeds)
    crossing = Counter(link for job in crowded for link in links_of[job])
    # Links with only one job do not matter.
    met_on = {job: sorted(link for link in links_of[job] if crossing[link] > 1) for job in crowded}
    row = {link: at for at, link in enumerate(link for link in crossing if crossing[link] > 1)}
    if not row:
        jobs = list(crowded)
        taus, _ = _taus(iterations[:, jobs], np.array([alone_gbps[job] for job in jobs]))
        return dict(zip(jobs, taus.tolist(), strict=True))
    jobs = sorted(crowded, key=lambda job: len(met_on[job]), reverse=True)
    there = np.zeros((len(row), len(jobs)))
    meetings = [Meeting([], []) for _ in met_on[jobs[0]]]
    for at, job in enumerate(jobs):
        for link, meeting in zip(met_on[job], meetings, strict=False):
            there[row[link], at] = 1
            meeting.link.append(row[link])
            meeting.ratio.append(alone_gbps[job] / speeds[link])
    least, most = (np.array([gbps[job] for job in jobs]) for gbps in (crowded, alone_gbps))
    columns = iterations[:, jobs]
    groups = [slice(at, at + AT_A_TIME) for at in range(0, len(jobs), AT_A_TIME)]
    weight = [weights(least, some) for some in groups]
    squares = [each * each for each in weight]
    taus, busy = _taus(columns, least)
    for _ in range(TIMES):
        part = np.concatenate(
            [
                left_for_some(beside, squared, busy, there, meetings, some)
                for beside, squared, some in zip(weight, squares, groups, strict=True)
            ]
        )
        taus, busy = _taus(columns, np.maximum(least, most * part))
    return dict(zip(jobs, taus.tolist(), strict=True))


class Meeting(NamedTuple):
    """One link of each job that has so many, the first or the second and so on; who has most comes first."""

    link: list[int]  # as a row of who is there
    ratio: list[float]  # the job's speed alone over that of the link


def weights(least: Vector, some: slice) -> Vector:
    """Return by how much others count beside some jobs: one slowed elsewhere takes less, in this ratio.

    Examples
    --------
    >>> weights(np.array([1.0, 2.0, 0.0]), slice(0, 3)).tolist()
    [[0.0, 1.0, 0.0], [0.5, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """
    own = least[some][:, np.newaxis]
    table = np.ones((len(own), len(least)))
    np.divide(least, own, out=table, where=least < own)
    np.fill_diagonal(table[:, some], 0)  # a job does not meet itself
    return table


def left_for_some(
    weight: Vector,
    squared: Vector,
    busy: Vector,
    there: Vector,
    meetings: Sequence[Meeting],
    some: slice,
) -> Vector:
    """Return the mean part of its speed alone that each of some jobs has, link by link in order.

    Parameters
    ----------
    weight, squared
        By how much all others, in columns, count beside the job of the row, and its square.
    busy
        The part of its time in which each exchanges.
    there
        Who crosses each link.

    Examples
    --------
    >>> alike, link = np.ones((2, 2)) - np.eye(2), Meeting([0, 0], [1.0, 1.0])
    >>> left_for_some(alike, alike, np.array([1.0, 0.5]), np.ones((1, 2)), [link], slice(0, 2)).tolist()
    [0.75, 0.5]
    """
    comes, varies = weight * busy, squared * (busy * (1 - busy))
    crowd = np.zeros(len(weight)), np.zeros(len(weight))
    loading = np.zeros(weight.shape)  # by how much N grows with each other that comes
    widest = np.zeros(len(weight))
    for nth, meeting in enumerate(meetings):
        ratio = np.array(meeting.ratio[some])
        num = len(ratio)
        if num == 0:
            break
        on_it = there[meeting.link[some]]
        own = on_it * varies[:num]
        here = ratio * (1 + _by_row(on_it, comes[:num])) - 1, ratio**2 * own.sum(axis=1)
        if nth == 0:
            chance = np.zeros(num)
        else:
            common = ratio * _by_row(loading[:num], own)
            here, chance = _maximum((crowd[0][:num], crowd[1][:num]), here, common)
        crowd[0][:num], crowd[1][:num] = here
        if nth + 1 < len(meetings):
            loading[:num] *= chance[:, np.newaxis]
            loading[:num] += ((1 - chance) * ratio)[:, np.newaxis] * on_it
        np.maximum(widest[:num], ratio, out=widest[:num])
    mean, variance = crowd
    roomy = np.flatnonzero((widest > 0) & (widest < 1))
    if len(roomy):  # the number of jobs met is not negative
        limit = mean[roomy] + 1 - widest[roomy]
        none = np.zeros(len(roomy))
        (held, variance[roomy]), _ = _maximum((mean[roomy], variance[roomy]), (none, none), none)
        mean[roomy] = np.minimum(held, limit)
    return np.array([_mean_part(*each) for each in zip(mean.tolist(), variance.tolist(), strict=True)])


def _taus(columns: Vector, gbps: Vector) -> tuple[Vector, Vector]:
    """Return tau of jobs that exchange at these rates, and the part of it that they are on the wire."""
    gbit, other_s, forward_s, backward_s, buckets = columns
    wire_s = np.full(len(gbit), math.inf)  # at a speed so small that it rounded to nothing
    with np.errstate(over="ignore"):
        np.divide(gbit, gbps, out=wire_s, where=gbps > 0)
    sent_s = wire_s + other_s
    taus = forward_s + np.maximum(backward_s + sent_s / buckets, backward_s / buckets + sent_s)
    busy = np.ones(len(gbit))
    np.divide(wire_s, taus, out=busy, where=np.isfinite(taus))
    return taus, busy


def _by_row(a: Vector, b: Vector) -> Vector:
    sums: Vector = np.einsum("ij,ij->i", a, b)
    return sums


def _maximum(a: Normal, b: Normal, common: Vector) -> tuple[Normal, Vector]:
    """Return mean and variance of the maximum of two normals (Clark 1961), and how often it is a."""
    (mean_a, variance_a), (mean_b, variance_b) = a, b
    difference = variance_a + variance_b - 2 * common
    sure = difference < 1e-12
    deviation = np.sqrt(np.where(sure, 1.0, difference))
    z = (mean_a - mean_b) / deviation
    below = np.array([(1 + math.erf(each)) / 2 for each in (z / math.sqrt(2)).tolist()])
    density = deviation * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    if sure.any():  # then the larger one
        below[sure] = mean_b[sure] <= mean_a[sure]
        density[sure] = 0
    above = 1 - below
    first = mean_a * below + mean_b * above + density
    second = (mean_a**2 + variance_a) * below + (mean_b**2 + variance_b) * above + (mean_a + mean_b) * density
    return (first, np.maximum(0.0, second - first**2)), below


def _mean_part(mean: float, variance: float) -> float:
    """Return the mean of 1 / (1 + N), N binomial with this mean and variance."""
    if mean <= 0:
        return 1.0
    chance = 1 - variance / mean
    if chance < 1e-9:  # then it is a law of Poisson
        return (1 - math.exp(-mean)) / mean if mean > 1e-6 else 1 - mean / 2
    tries = mean / chance
    none = (1 - chance) ** (tries + 1) if chance < 1 else 0.0
    return (1 - none) / ((tries + 1) * chance)
