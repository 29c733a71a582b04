"""Section 7 on the number of servers (Fig. 6) and on λ (Fig. 7)."""

from __future__ import annotations

import math
from itertools import pairwise

from ringsched.paper.claims.verdict import (
    FAILS,
    HOLDS,
    IN_PART,
    Finding,
    Question,
    above,
    below,
    in_words,
    less,
    less_share,
    more,
)
from ringsched.paper.experiments import FIFO, MANY_SERVERS, SLACKS, SMALLEST, PaperRow
from ringsched.paper.figures import LOOKS
from ringsched.paper.results import Estimate, Line, Results, feasible, geometric, num_censored, value_of

WHERE = "7, Fig. 6"
FEW, MANY = 10, 20
SHOWN = {"sjf-bco": SMALLEST, "first-fit": FIFO, "list-scheduling": FIFO}


def _line(results: Results, policy: str, servers: int, order: str | None = None) -> Line:
    return results.line("servers", policy=policy, order=order or SHOWN[policy], servers=servers)


def _advantage(results: Results) -> list[Finding]:
    """Find that the lead of SJF-BCO is larger on few servers than on many."""
    found = []
    for other in ("first-fit", "list-scheduling"):
        for order in (FIFO, SMALLEST):
            estimate = _double_ratio(results, ("sjf-bco", SMALLEST), (other, order))
            words = (
                f"lead over {LOOKS[other].label} ({order}), {FEW} servers over {MANY}: {in_words(estimate)}"
            )
            found.append(Finding(above(estimate, 1.0), words))
    return found


def _double_ratio(results: Results, own: tuple[str, str], other: tuple[str, str]) -> Estimate:
    """Return (other / own on few servers) / (other / own on many), over seeds.

    T replaces a makespan over T. This makes the other policy's makespan too small, so the true result is
    at least the returned one. Seeds in which SJF-BCO itself is over T are left out.
    """
    lines = [_line(results, policy, n, order) for n in (FEW, MANY) for policy, order in (other, own)]
    logs = []
    for seed in feasible(lines[1]):
        few_other, few_own, many_other, many_own = (
            math.log(value_of(line[seed], "makespan_s") or 1.0) for line in lines
        )
        logs.append(few_other - few_own - many_other + many_own)
    return geometric(logs)


def _less_contention(results: Results) -> list[Finding]:
    return [
        less_share(
            _line(results, policy, MANY),
            _line(results, policy, FEW),
            f"{LOOKS[policy].label}, contention loss of {MANY} servers less {FEW}:",
            "contention_loss",
        )
        for policy in SHOWN
    ]


def _shorter(results: Results) -> list[Finding]:
    return [
        less(
            _line(results, policy, MANY),
            few := _line(results, policy, FEW),
            f"{LOOKS[policy].label}, {num_censored(few)} of {len(few)} over T on {FEW} servers:",
        )
        for policy in SHOWN
    ]


def _first_fit_most(results: Results) -> list[Finding]:
    found = []
    for other in ("sjf-bco", "list-scheduling"):
        estimate = _double_ratio(results, (other, SHOWN[other]), ("first-fit", FIFO))
        words = f"FF's factor over that of {LOOKS[other].label}: {in_words(estimate)}"
        found.append(Finding(above(estimate, 1.0), words))
    return found


def _idle_time(results: Results) -> list[Finding]:
    many, few = (feasible(_line(results, "first-fit", n)) for n in (MANY, FEW))
    logs = [math.log(_idle_s(many[seed]) / _idle_s(few[seed])) for seed in few if seed in many]
    idle = geometric(logs)
    words = f"FF, seconds a GPU is idle, {MANY} servers over {FEW}: {in_words(idle)}"
    return [
        Finding(below(idle, 1.0), words),
        less(many, few, "theta:", "theta"),
    ]


def _idle_s(row: PaperRow) -> float:
    return (1 - (row.gpu_utilisation or 0.0)) * (row.makespan_s or 0.0)


def _no_contention(results: Results) -> list[Finding]:
    lines = {n: results.line("plenty", servers=n) for n in MANY_SERVERS}
    counts = {n: sum(row.contention_loss == 0 for row in line.values()) for n, line in lines.items()}
    most = MANY_SERVERS[-1]
    words = ", ".join(f"{counts[n]} of {len(lines[n])} seeds on {n} servers" for n in MANY_SERVERS)
    return [
        Finding(counts[most] > counts[MANY_SERVERS[0]], f"no contention in {words}"),
        Finding(counts[most] == len(lines[most]), f"largest loss there {_largest(lines[most]):.1%}"),
    ]


def _largest(line: Line) -> float:
    return max(row.contention_loss or 0.0 for row in line.values())


SERVER_QUESTIONS = (
    Question(
        name="limited GPUs",
        where="7, Fig. 4",
        sentence="SJF-BCO has more prominent advantages over these baselines when GPU resources are limited.",
        figure="servers",
        needs=("servers",),
        findings=_advantage,
        why={
            HOLDS: "With few GPUs, the other policies lose more to contention. A run over T counts as T, and "
            "seeds in which SJF-BCO itself is over T are left out, so the leads on 10 servers are at least "
            "these.",
        },
    ),
    Question(
        name="less contention",
        where=WHERE,
        sentence="The larger the number of servers, the less communication contention.",
        figure="servers",
        needs=("servers",),
        findings=_less_contention,
        why={
            IN_PART: "For SJF-BCO it is undecided: it has little contention on any number of servers, and "
            "how much depends on which kappa its search keeps."
        },
    ),
    Question(
        name="more servers, shorter",
        where=WHERE,
        sentence="From 10 to 20 servers the makespans of FF, LS and SJF-BCO decrease ...",
        figure="servers",
        needs=("servers",),
        findings=_shorter,
    ),
    Question(
        name="FF gains most",
        where=WHERE,
        sentence="... FF has the largest makespan reduction ...",
        figure="servers",
        needs=("servers",),
        findings=_first_fit_most,
        why={
            FAILS: "All gain alike: twice the GPUs, half the time. The gain is that of more GPUs, not of "
            "less contention.",
            IN_PART: "FF gains a little more than SJF-BCO and no more than LS. Nearly all of the gain is "
            "that of twice as many GPUs, which all policies have.",
        },
    ),
    Question(
        name="why FF gains",
        where=WHERE,
        sentence="... since the idle time of workers drops, a smaller execution time limit being possible.",
        figure="servers",
        needs=("servers",),
        findings=_idle_time,
        why={
            FAILS: "A GPU is idle about as long: the last jobs run while most of the added GPUs have "
            "nothing to do.",
            IN_PART: "The limit theta does get smaller. But a GPU is idle about as long: the last jobs "
            "run while most of the added GPUs have nothing to do.",
        },
    ),
    Question(
        name="no contention if GPUs abound",
        where=WHERE,
        sentence="If enough resources are available, each job will have a separate set of servers using "
        "SJF-BCO and no contention is introduced.",
        figure="servers",
        needs=("plenty",),
        findings=_no_contention,
        why={
            IN_PART: "LBSGF nearly does so. But the search over kappa keeps whatever ends first, and jobs "
            "that may share servers start earlier: some contention is the price of a shorter makespan.",
        },
    ),
)


WHERE_SLACK = "7, Fig. 7"


def _slack_line(results: Results, slack: int) -> Line:
    return results.line("lambda", slack=slack)


def _falls(results: Results) -> list[Finding]:
    return [
        less(_slack_line(results, high), _slack_line(results, low), f"lambda {high} over {low}:")
        for low, high in pairwise(SLACKS)
    ]


def _more_servers(results: Results) -> list[Finding]:
    return [
        more(
            _slack_line(results, high),
            _slack_line(results, low),
            f"servers of a job, lambda {high} over {low}:",
            "servers_per_job",
        )
        for low, high in pairwise(SLACKS)
    ]


def _less_of_both(results: Results) -> list[Finding]:
    high, low = _slack_line(results, SLACKS[-1]), _slack_line(results, SLACKS[0])
    return [
        less_share(high, low, "contention loss, lambda 8 less 1:", "contention_loss"),
        less_share(high, low, "spreading loss, 8 less 1:", "spreading_loss"),
    ]


SLACK_QUESTIONS = (
    Question(
        name="lambda shortens",
        where=WHERE_SLACK,
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
        where=WHERE_SLACK,
        sentence="A larger lambda implies that a larger number of servers could be selected.",
        figure="lambda",
        needs=("lambda",),
        findings=_more_servers,
    ),
    Question(
        name="lambda lowers contention and overhead",
        where=WHERE_SLACK,
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
