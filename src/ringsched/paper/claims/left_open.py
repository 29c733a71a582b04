"""Questions that the paper leaves open, stated as expected claims."""

from __future__ import annotations

from itertools import pairwise

from ringsched.paper.claims.verdict import (
    FAILS,
    IN_PART,
    Finding,
    Question,
    below,
    in_words,
    less,
    less_share,
)
from ringsched.paper.experiments import FIFO, HORIZONS_S, KAPPAS, LONGEST, OK, SHARES, SMALLEST
from ringsched.paper.figures import LOOKS
from ringsched.paper.results import Line, Results, ratio, value_of


def _order_is_no_matter(results: Results) -> list[Finding]:
    """Find that a policy's makespan is the same in both orders: the interval of the ratio holds 1."""
    found = []
    for policy in ("first-fit", "list-scheduling", "random"):
        smallest, fifo = (results.line("policies", policy=policy, order=o) for o in (SMALLEST, FIFO))
        for metric, word in (("makespan_s", "makespan"), ("mean_completion_s", "mean completion")):
            estimate = ratio(smallest, fifo, metric)
            same = (
                None if estimate.low is None or estimate.high is None else estimate.low <= 1 <= estimate.high
            )
            words = f"{LOOKS[policy].label}, {word}, smallest first over queue order: {in_words(estimate)}"
            found.append(Finding(same, words))
    return found


def _ties(results: Results) -> list[Finding]:
    found = []
    for order in (FIFO, SMALLEST, LONGEST):
        packed = results.line("ties", policy="sjf-bco", kappa=KAPPAS[-1], order=order)
        plain = results.line("ties", policy="list-scheduling", order=order)
        found += [
            less(packed, plain, f"{order}: makespan over LS"),
            less_share(packed, plain, "contention loss less LS", "contention_loss"),
        ]
    return found


def _longer_is_no_worse(results: Results) -> list[Finding]:
    lines = [results.line("horizon", horizon_s=horizon_s) for horizon_s in HORIZONS_S]
    seeds = list(lines[0])
    curves = {seed: [line[seed] for line in lines] for seed in seeds}
    worse = sum(_gets_worse([row.makespan_s for row in rows if row.status == OK]) for rows in curves.values())
    spread = [
        _spread([value_of(row, "makespan_s") for row in rows if row.status == OK]) for rows in curves.values()
    ]
    words = f"a larger T gives a longer plan somewhere in {worse} of {len(seeds)} seeds"
    return [Finding(worse == 0, f"{words}; largest over smallest makespan up to {max(spread):.2f}")]


def _gets_worse(makespans: list[float | None]) -> bool:
    return any(
        after is not None and before is not None and after > before for before, after in pairwise(makespans)
    )


def _spread(makespans: list[float | None]) -> float:
    known = [value for value in makespans if value is not None]
    return max(known) / min(known) if known else 1.0


def _share_line(results: Results, policy: str, order: str, share: float) -> Line:
    return results.line("share", policy=policy, order=order, contention=share)


def _pays(results: Results, policy: str, order: str, name: str) -> list[Finding]:
    """Find at every share whether SJF-BCO ends before another; say from which share on."""
    found = [
        ratio(
            _share_line(results, "sjf-bco", SMALLEST, share),
            _share_line(results, policy, order, share),
            "makespan_s",
        )
        for share in SHARES
    ]
    ahead = [below(estimate, 1.0) for estimate in found]
    start = next((share for at, share in enumerate(SHARES) if all(ahead[at:])), None)
    since = "at no share" if start is None else f"from a share of {start:g} on"
    words = [
        f"{share:g}: {in_words(estimate)}, {estimate.count} pairs"
        for share, estimate in zip(SHARES, found, strict=True)
    ]
    words[0] = f"ahead of {name} {since}; {words[0]}"
    return [Finding(each, said) for each, said in zip(ahead, words, strict=True)]


OPEN_QUESTIONS = (
    Question(
        name="the order of FF, LS, RAND",
        where="7, not stated",
        sentence="In which order FF, LS and RAND take the jobs makes no difference.",
        figure="policies",
        needs=("policies",),
        findings=_order_is_no_matter,
        why={
            FAILS: "It decides Fig. 4. Smallest first lowers every mean completion and lengthens the "
            "makespans of FF and LS.",
            IN_PART: "It decides Fig. 4. Smallest first lowers every mean completion and lengthens the "
            "makespans of FF and LS; RAND's makespan hardly changes.",
        },
    ),
    Question(
        name="FA-FFP packs",
        where="5, Alg. 2",
        sentence="FA-FFP, the least loaded GPUs with ties to the busiest server, is better than list "
        "scheduling.",
        figure="kappa",
        needs=("ties",),
        findings=_ties,
        why={
            FAILS: "The pseudo-code alone is list scheduling; only ties of load can make it "
            "fragment-aware, and after the first jobs loads are seldom equal across servers. What helps "
            "SJF-BCO is LBSGF.",
            IN_PART: "The pseudo-code alone is list scheduling; only ties of load can make it "
            "fragment-aware, and after the first jobs loads are seldom equal across servers. What helps "
            "SJF-BCO is LBSGF.",
        },
    ),
    Question(
        name="a longer horizon is no worse",
        where="5, Alg. 1",
        sentence="Bisection finds the smallest theta that is feasible, so a larger T does not lengthen the "
        "plan.",
        figure="horizon",
        needs=("horizon",),
        findings=_longer_is_no_worse,
        why={
            FAILS: "The bisection goes on to smaller thetas only on a strict improvement, so which thetas "
            "it visits depends on T. A smaller theta does not always give a shorter makespan.",
        },
    ),
    Question(
        name="awareness pays, same order",
        where="1, motivation",
        sentence="Awareness of contention pays (against LS, which ignores it, in the same order).",
        figure="share",
        needs=("share",),
        findings=lambda results: _pays(results, "list-scheduling", SMALLEST, "LS smallest first"),
        why={
            IN_PART: "If communication is nearly free, ignoring it costs nothing; then the lead grows "
            "with the share.",
        },
    ),
    Question(
        name="awareness pays, best order",
        where="1, motivation",
        sentence="The same against LS that takes the longest jobs first.",
        figure="share",
        needs=("share",),
        findings=lambda results: _pays(results, "list-scheduling", LONGEST, "LS longest first"),
        why={
            IN_PART: "Up to a large share it is worth more to start long jobs early than to avoid "
            "contention.",
            FAILS: "It is worth more to start long jobs early than to avoid contention.",
        },
    ),
    Question(
        name="SJF-BCO against best fit",
        where="1, motivation",
        sentence="The same against best fit that takes the longest jobs first.",
        figure="share",
        needs=("share",),
        findings=lambda results: _pays(results, "longest-first", LONGEST, "best fit longest first"),
        why={
            FAILS: "Best fit keeps jobs inside servers without knowing of contention, and long jobs do not "
            "come last: a simple rule that the paper does not compare with ends first at every share.",
        },
    ),
)
