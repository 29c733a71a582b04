"""Section 7 on SJF-BCO beside FF, LS and RAND (Fig. 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ringsched.paper.claims.verdict import FAILS, HOLDS, IN_PART, Finding, Question, less, more
from ringsched.paper.experiments import FIFO, SMALLEST
from ringsched.paper.figures import LOOKS
from ringsched.paper.results import Line, Results

WHERE = "7, Fig. 4"
OTHERS = ("first-fit", "list-scheduling", "random")
ORDER_NAMES = {FIFO: "queue order", SMALLEST: "smallest first"}


def _line(results: Results, policy: str, order: str = SMALLEST) -> Line:
    return results.line("policies", policy=policy, order=order)


def _ahead(metric: str, order: str, others: Sequence[str] = OTHERS) -> Callable[[Results], list[Finding]]:
    """Return the question whether SJF-BCO is below every other in a metric."""

    def findings(results: Results) -> list[Finding]:
        own = _line(results, "sjf-bco")
        return [
            less(own, _line(results, other, order), f"over {LOOKS[other].label}", metric) for other in others
        ]

    return findings


def _large_jobs_closer(results: Results) -> list[Finding]:
    own, metric = _line(results, "sjf-bco"), "servers_per_large_job"
    return [
        less(own, _line(results, other, FIFO), f"servers of a large job, over {LOOKS[other].label}", metric)
        for other in ("first-fit", "random")
    ]


def _placement_alone(results: Results) -> list[Finding]:
    own = _line(results, "sjf-bco")
    metrics = {"makespan_s": "makespan", "mean_completion_s": "mean completion"}
    return [
        less(
            own,
            _line(results, other, order),
            f"{word}, over {LOOKS[other].label} {ORDER_NAMES[order]}",
            metric,
        )
        for metric, word in metrics.items()
        for other in ("first-fit", "random")
        for order in (FIFO, SMALLEST)
    ]


def _first_fit_packs(results: Results) -> list[Finding]:
    own = _line(results, "first-fit", FIFO)
    return [
        less(own, _line(results, other, order), f"servers of a job, FF over {LOOKS[other].label}", metric)
        for other, order, metric in (
            ("list-scheduling", FIFO, "servers_per_job"),
            ("random", FIFO, "servers_per_job"),
            ("sjf-bco", SMALLEST, "servers_per_job"),
        )
    ]


def _list_scheduling_spreads(results: Results) -> list[Finding]:
    own = _line(results, "list-scheduling", FIFO)
    return [
        more(
            own,
            _line(results, other, order),
            f"servers of a job, LS over {LOOKS[other].label}",
            "servers_per_job",
        )
        for other, order in (("first-fit", FIFO), ("sjf-bco", SMALLEST))
    ]


BASELINE_QUESTIONS = (
    Question(
        name="makespan, queue order",
        where=WHERE,
        sentence="SJF-BCO outperforms other scheduling policies in terms of makespan (FF, LS, RAND in "
        "queue order).",
        figure="policies",
        needs=("policies",),
        findings=_ahead("makespan_s", FIFO),
        why={
            IN_PART: "The paper does not state the order of the other policies. In queue order FF is as "
            "good: it loses time to contention, and SJF-BCO loses as much by starting the largest jobs last.",
        },
    ),
    Question(
        name="makespan, smallest first",
        where=WHERE,
        sentence="The same, FF, LS and RAND taking the smallest jobs first as SJF-BCO does.",
        figure="policies",
        needs=("policies",),
        findings=_ahead("makespan_s", SMALLEST),
        why={
            HOLDS: "At the same order only the placement differs, and there SJF-BCO is clearly ahead: its "
            "order hurts the makespan, its placement helps it.",
        },
    ),
    Question(
        name="mean completion, queue order",
        where=WHERE,
        sentence="... and average job completion times, implying that it is superior in total completion "
        "time.",
        figure="policies",
        needs=("policies",),
        findings=_ahead("mean_completion_s", FIFO),
    ),
    Question(
        name="mean completion, smallest first",
        where=WHERE,
        sentence="The same, FF, LS and RAND taking the smallest jobs first.",
        figure="policies",
        needs=("policies",),
        findings=_ahead("mean_completion_s", SMALLEST),
        why={
            HOLDS: "Most of the lead over FF and LS comes from the order: in the same order it is a few "
            "percent.",
        },
    ),
    Question(
        name="large jobs on new servers",
        where=WHERE,
        sentence="SJF-BCO tends to open new servers for large jobs to avoid the large communication "
        "overhead ...",
        figure="policies",
        needs=("policies",),
        findings=_large_jobs_closer,
    ),
    Question(
        name="therefore better than FF and RAND",
        where=WHERE,
        sentence="... thus achieving better average completion time and makespan than FF and RAND.",
        figure="policies",
        needs=("policies",),
        findings=_placement_alone,
        why={
            IN_PART: "All but one comparison: FF in queue order has the same makespan, within the interval."
        },
    ),
    Question(
        name="FF packs",
        where="7, baselines",
        sentence="FF tends to pack different jobs into the fewest number of servers.",
        figure="policies",
        needs=("policies",),
        findings=_first_fit_packs,
        why={
            IN_PART: "Fewer servers than LS and RAND, but more than SJF-BCO: FF fills servers from the "
            "first on, and splits a job at the end of a server.",
            FAILS: "FF fills servers from the first on, and splits a job at the end of a server.",
        },
    ),
    Question(
        name="LS spreads",
        where="7, baselines",
        sentence="LS may introduce high communication overhead since it may choose GPUs from many servers.",
        figure="policies",
        needs=("policies",),
        findings=_list_scheduling_spreads,
        why={HOLDS: "LS spreads jobs hardly more than FF."},
    ),
)
