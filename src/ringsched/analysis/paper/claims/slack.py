"""Section 7 on λ (Fig. 7)."""

from __future__ import annotations

from itertools import pairwise

from ringsched.analysis.paper.claims.verdict import FAILS, IN_PART, Finding, Question, less, less_share, more
from ringsched.analysis.paper.experiments import SLACKS
from ringsched.analysis.paper.results import Line, Results

WHERE = "7, Fig. 7"


def _line(results: Results, slack: int) -> Line:
    return results.line("lambda", slack=slack)


def _falls(results: Results) -> list[Finding]:
    return [
        less(_line(results, high), _line(results, low), f"lambda {high} over {low}:")
        for low, high in pairwise(SLACKS)
    ]


def _more_servers(results: Results) -> list[Finding]:
    return [
        more(
            _line(results, high),
            _line(results, low),
            f"servers of a job, lambda {high} over {low}:",
            "servers_per_job",
        )
        for low, high in pairwise(SLACKS)
    ]


def _less_of_both(results: Results) -> list[Finding]:
    high, low = _line(results, SLACKS[-1]), _line(results, SLACKS[0])
    return [
        less_share(high, low, "contention loss, lambda 8 less 1:", "contention_loss"),
        less_share(high, low, "spreading loss, 8 less 1:", "spreading_loss"),
    ]


SLACK_QUESTIONS = (
    Question(
        name="lambda shortens",
        where=WHERE,
        sentence="At kappa = 1 the makespan monotonically decreases as lambda increases (1, 2, 4, 8).",
        figure="lambda",
        needs=("lambda",),
        findings=_falls,
        why={
            IN_PART: "It falls as jobs wait less for their servers, and rises again when the contention of "
            "jobs spread over many servers outweighs that.",
        },
    ),
    Question(
        name="lambda opens servers",
        where=WHERE,
        sentence="A larger lambda implies that a larger number of servers could be selected.",
        figure="lambda",
        needs=("lambda",),
        findings=_more_servers,
    ),
    Question(
        name="lambda lowers contention and overhead",
        where=WHERE,
        sentence="The job then has a higher chance to open new servers, resulting in less communication "
        "contention and a smaller communication overhead.",
        figure="lambda",
        needs=("lambda",),
        findings=_less_of_both,
        why={
            FAILS: "The text contradicts the paper's own overhead term gamma, which grows with every "
            "server used. More servers to choose from means rings over more of them: both losses grow. The "
            "makespan gains by less waiting alone.",
        },
    ),
)
