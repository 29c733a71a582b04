"""Section 6: the lemmas and theorems, counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ringsched.paper.claims.verdict import FAILS, HOLDS, IN_PART, Finding, Question
from ringsched.paper.experiments import KAPPAS, PaperRow, TinyRow
from ringsched.paper.results import Results, feasible
from ringsched.paper.tiny import KINDS

LARGEST_JOB = KAPPAS[-1]  # of the paper's workload
SLACK = 1 + 1e-9  # rounding


def _paper_rows(results: Results) -> Sequence[PaperRow]:
    return list(feasible(results.line("policies", policy="sjf-bco")).values())


def _tiny_counts(results: Results, holds: Callable[[TinyRow], bool], what: str = "") -> list[Finding]:
    """Find of every kind of tiny instance whether something holds in all."""
    found = []
    for kind in KINDS:
        rows = [row for row in results.tiny if row.kind == kind]
        count = sum(holds(row) for row in rows)
        found.append(Finding(count == len(rows), f"{what}{kind} {count} of {len(rows)}"))
    return found


def _load_is_theta(results: Results) -> list[Finding]:
    rows = _paper_rows(results)
    within = sum((row.largest_load or 0.0) <= (row.theta or 0) for row in rows)
    equal = sum(row.largest_load == row.theta for row in rows)
    share = sum((row.largest_load or 0.0) / (row.theta or 1) for row in rows) / max(1, len(rows))
    return [
        Finding(within == len(rows), f"W_max <= theta in {within} of {len(rows)} plans of Fig. 4"),
        Finding(equal == len(rows), f"equal in {equal}, on average W_max is {share:.0%} of theta"),
        *_tiny_counts(results, lambda row: row.largest_load == row.theta, "equal on tiny instances, "),
    ]


def _makespan_within_load(results: Results) -> list[Finding]:
    rows = _paper_rows(results)
    ratios = [(row.makespan_s or 0.0) / (row.largest_load or math.inf) for row in rows]
    count = sum(ratio <= LARGEST_JOB * SLACK for ratio in ratios)
    allowed = f"makespan / W_max at most {max(ratios):.2f} where {LARGEST_JOB} is allowed"
    words = f"{count} of {len(rows)} plans of Fig. 4, {allowed}"
    return [
        Finding(count == len(rows), words),
        *_tiny_counts(
            results, lambda row: row.makespan_s <= row.largest_job * row.largest_load * SLACK, "tiny, "
        ),
    ]


def _theta_near_best(results: Results) -> list[Finding]:
    return [
        *_tiny_counts(results, lambda row: row.theta <= _allowed(row), "theta: "),
        *_tiny_counts(results, lambda row: row.largest_load <= _allowed(row), "W_max in its place: "),
    ]


def _allowed(row: TinyRow) -> float:
    """Return φ u / l times θ*, what the third lemma allows."""
    return row.claimed_ratio / row.largest_job * row.best_largest_load * SLACK


def _ratio(results: Results) -> list[Finding]:
    rows = _paper_rows(results)
    claimed = [row.claimed_ratio or 0.0 for row in rows]
    measured = [(row.makespan_s or 0.0) / (row.lower_bound_s or 1.0) for row in rows]
    promised = f"{min(claimed):.0f} to {max(claimed):.0f} promised"
    words = f"Fig. 4: {promised}, at most {max(measured):.2f} over the lower bound"
    return [
        *_tiny_counts(results, lambda row: row.makespan_s <= row.claimed_ratio * row.optimum_s * SLACK),
        Finding(all(one <= other for one, other in zip(measured, claimed, strict=True)), words),
    ]


def _trials(results: Results) -> list[Finding]:
    rows = _paper_rows(results)
    most = max(row.trials or 0 for row in rows)
    allowed = LARGEST_JOB * (math.floor(math.log2(rows[0].horizon_s)) + 1)
    return [Finding(most <= allowed, f"at most {most} trials of (theta, kappa), {allowed} are allowed")]


THEORY_QUESTIONS = (
    Question(
        name="first lemma",
        where="6",
        sentence="The maximum execution time W_max equals the theta that Algorithm 1 returns.",
        figure="tiny",
        needs=("policies", "tiny"),
        findings=_load_is_theta,
        why={
            IN_PART: "W_max is never above theta, which the second lemma needs. The third needs them "
            "equal, and they hardly ever are: the bisection keeps the last theta that shortened the "
            "makespan, often the first it tried, T / 2.",
        },
    ),
    Question(
        name="second lemma",
        where="6",
        sentence="The makespan is at most n_g W_max.",
        figure="tiny",
        needs=("policies", "tiny"),
        findings=_makespan_within_load,
        why={
            HOLDS: "It holds in every plan tried, by a wide margin. The proof uses charges as durations, but "
            "under contention jobs run longer than they are charged.",
        },
    ),
    Question(
        name="third lemma",
        where="6",
        sentence="theta is at most phi u / l times theta*, the smallest limit any assignment needs.",
        figure="tiny",
        needs=("tiny",),
        findings=_theta_near_best,
        why={
            FAILS: "Step (b) of the proof takes the least loaded GPUs job by job for the best assignment. "
            "One server, two GPUs, jobs of 10, 10 and 20 slots: theta* = 20, and the algorithm needs 30. "
            "Nor is the theta returned tight (first lemma).",
            IN_PART: "Step (b) of the proof takes the least loaded GPUs job by job for the best "
            "assignment. One server, two GPUs, jobs of 10, 10 and 20 slots: theta* = 20, and the algorithm "
            "needs 30. Where phi is large, the bound is so loose that it holds all the same.",
        },
    ),
    Question(
        name="theorem on the ratio",
        where="6",
        sentence="SJF-BCO is n_g phi u / l approximate (here against the proved optimum).",
        figure="tiny",
        needs=("policies", "tiny"),
        findings=_ratio,
        why={
            IN_PART: "It fails with jobs of one GPU, where the stated ratio is small, and holds where the "
            "ratio is large. One counterexample is enough, so the theorem is false as stated.",
        },
    ),
    Question(
        name="theorem on the running time",
        where="6",
        sentence="SJF-BCO makes n_g log T trials, so its running time is O(n_g |J| N log N log T).",
        figure="tiny",
        needs=("policies",),
        findings=_trials,
        why={
            HOLDS: "With kappa over the sizes that occur, far fewer. Each trial may sort again at every "
            "completion, which the proof does not count: a job may be tried more than once."
        },
    ),
)
