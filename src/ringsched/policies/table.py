"""All policies of `plan`, `simulate` and `compare`, in one explicit table."""

from __future__ import annotations

from collections.abc import Mapping

from ringsched.errors import InputError, UnknownName
from ringsched.policies.exact import solve_exact
from ringsched.policies.policy import ANY_ORDER, Policy
from ringsched.policies.search import solve_search
from ringsched.policies.single_rule import (
    solve_first_fit,
    solve_list_scheduling,
    solve_lwf,
    solve_random,
)
from ringsched.policies.sjf_bco import certify_sjf_bco, solve_sjf_bco
from ringsched.rules.table import (
    ADAPTIVE_OVERLAP,
    BEST_FIT,
    FREE_LINKS,
    LEAST_WORKLOAD,
    QUIET_LINKS,
)

# The names that the paper and its figures use.
PAPER_NAMES = {
    "SJF-BCO": "sjf-bco",
    "FF": "first-fit",
    "LS": "list-scheduling",
    "RAND": "random",
    "LWF": "lwf",
}

_NOT_ONLINE = (
    "policy {!r} plans a queue that is known in advance, and cannot be simulated; "
    "use 'rolling', which searches when jobs arrive, or another one of `ringsched policies --online`"
)
_ONLINE_ONLY = (
    "policy {!r} works in 'ringsched simulate' and 'ringsched slurm' only, where jobs arrive over time; "
    "use 'search' here"
)

DEFAULT_POLICY = "search"
DEFAULT_ONLINE_POLICY = "fifo"

_DISPATCHING = frozenset({"order", "max-wait"})
_PLANNING = frozenset({"replan-every"})
_SEARCH = frozenset({"time-limit", "max-schedules"})
_BEST_FIT = "tightest server, else fewest"

POLICIES: tuple[Policy, ...] = (
    Policy(
        name="search",
        order=ANY_ORDER,
        rule="any rule for each job, or wait",
        search="anytime: order, rule and blocking",
        options=_SEARCH | {"seed", "gap", "workers", "max-wait"},
        summary="as good as time allows; never worse than a simple policy in any order",
        solve=solve_search,
    ),
    Policy(
        name="sjf-bco",
        order="smallest-first",
        rule="FA-FFP up to kappa GPUs, LBSGF above",
        search="theta by bisection, kappa in full",
        options=frozenset({"theta", "kappa", "server-slack"}),
        summary="the paper's algorithm (MobiHoc '22, Alg. 1 to 3)",
        solve=solve_sjf_bco,
        certify=certify_sjf_bco,
        online=_PLANNING,
        replans=True,
    ),
    Policy(
        name="first-fit",
        rule="first GPUs, server by server",
        search="theta by bisection",
        options=frozenset({"theta"}),
        summary="packs from the first server on",
        solve=solve_first_fit,
        online=_PLANNING,
        replans=True,
    ),
    Policy(
        name="list-scheduling",
        rule="least loaded GPUs",
        search="theta by bisection",
        options=frozenset({"theta"}),
        summary="balances GPUs, spreads jobs widely",
        solve=solve_list_scheduling,
        online=_PLANNING,
        replans=True,
    ),
    Policy(
        name="random",
        rule="any GPUs",
        search="none (theta = T)",
        options=frozenset({"theta", "seed"}),
        summary="what not to lose against",
        solve=solve_random,
    ),
    Policy(
        name="longest-first",
        order="longest-first",
        placement=BEST_FIT,
        rule=_BEST_FIT,
        summary="long jobs early, packed tightly; the baseline to beat",
        online=_DISPATCHING,
    ),
    Policy(
        name="lwf",
        order="smallest-area-first",
        placement=LEAST_WORKLOAD,
        kappa=lambda _: 1,
        rule="least loaded GPUs up to kappa, least busy servers above",
        search="none (kappa = 1)",
        options=frozenset({"kappa"}),
        summary="LWF-kappa (Wang et al. 2020): SJF-BCO's rule without theta and lambda",
        solve=solve_lwf,
        online=_DISPATCHING,
    ),
    Policy(
        name="free-links",
        order="smallest-area-first",
        placement=FREE_LINKS,
        kappa=lambda problem: problem.fabric.model.lanes,
        rule="best fit, never over a link in use",
        summary="spread jobs wait for free links, or a free lane if they are reserved",
        online=_DISPATCHING,
    ),
    Policy(
        name="adaptive-overlap",
        order="smallest-area-first",
        placement=ADAPTIVE_OVERLAP,
        rule="best fit, over a link in use if that pays",
        summary="two spread jobs share a link only if it lowers the sum of their completions",
        counting_only=True,  # its test is about two jobs on one link alone
    ),
    Policy(
        name="exact",
        order=ANY_ORDER,
        rule="any counts of GPUs on servers",
        search="branch and bound, all starts",
        options=frozenset({"time-limit"}),
        summary="proves the best plan of a handful of jobs",
        solve=solve_exact,
        counting_only=True,  # the proof rests on this: one job less never slows another
    ),
    *(
        Policy(
            name=order, order=order, placement=BEST_FIT, rule=_BEST_FIT, summary=summary, online=_DISPATCHING
        )
        for order, summary in (
            ("fifo", "first come, first served"),
            ("smallest-first", "few GPUs first"),
            ("shortest-first", "the shortest estimate first"),
            ("smallest-area-first", "the fewest estimated GPU-seconds first"),
        )
    ),
    Policy(
        name="contention-aware",
        placement=QUIET_LINKS,
        rule="tightest server, else over the quietest links",
        summary="best fit that prefers links with few jobs",
        online=_DISPATCHING,
    ),
    Policy(
        name="rolling",
        order=ANY_ORDER,
        rule="as planned",
        search="policy `search` on the queue, when jobs arrive",
        summary="re-plans when jobs arrive, running jobs fixed",
        solve=solve_search,
        online=_PLANNING | _SEARCH | {"objective"},
        plans=False,
        replans=True,
        rolls=True,
    ),
)


def policy_named(name: str, *, online: bool = False) -> Policy:
    """Return the policy of that name that plans, or that works over time; or say which there are."""
    known = policies(online=online)
    for policy in known:
        if policy.name == name:
            return policy
    for policy in POLICIES:
        if policy.name == name:
            raise InputError(_NOT_ONLINE.format(name) if online else _ONLINE_ONLY.format(name))
    names = [policy.name for policy in known]
    meant = PAPER_NAMES.get(name.upper())
    raise UnknownName("policy", name, names, meant=meant if meant in names else None)


def policies(*, online: bool = False) -> tuple[Policy, ...]:
    """Return those that plan, or those that work over time."""
    return tuple(policy for policy in POLICIES if (policy.online is not None if online else policy.plans))


def check_options(policy: Policy, given: Mapping[str, object], *, online: bool = False) -> None:
    """Raise if something was given that the policy does not look at."""
    for option, value in given.items():
        if value is not None and option not in _options_of(policy, online):
            takers = ", ".join(
                other.name for other in policies(online=online) if option in _options_of(other, online)
            )
            raise InputError(f"is not allowed with policy {policy.name!r}, only with {takers}", field=option)


def _options_of(policy: Policy, online: bool) -> frozenset[str]:
    return (policy.online or frozenset()) if online else policy.options
