"""All policies, in one explicit table."""

from __future__ import annotations

from ringsched.errors import UnknownName
from ringsched.policies.exact import solve_exact
from ringsched.policies.policy import ANY_ORDER, Policy
from ringsched.policies.search import solve_search
from ringsched.policies.single_rule import (
    solve_adaptive_overlap,
    solve_best_fit,
    solve_first_fit,
    solve_free_links,
    solve_list_scheduling,
    solve_lwf,
    solve_random,
)
from ringsched.policies.sjf_bco import certify_sjf_bco, solve_sjf_bco

DEFAULT_POLICY = "search"

POLICIES: tuple[Policy, ...] = (
    Policy(
        name="search",
        order=ANY_ORDER,
        rule="one server, quiet links, or wait",
        search="anytime: order and placement",
        options=frozenset({"seed", "time-limit", "iterations", "gap", "threads"}),
        summary="as good as time allows; never worse than longest-first",
        solve=solve_search,
    ),
    Policy(
        name="sjf-bco",
        order="smallest-first",
        rule="FA-FFP up to kappa GPUs, LBSGF above",
        search="theta by bisection, kappa in full",
        options=frozenset({"theta", "kappa", "slack"}),
        summary="the paper's algorithm (MobiHoc '22, Alg. 1 to 3)",
        solve=solve_sjf_bco,
        certify=certify_sjf_bco,
    ),
    Policy(
        name="first-fit",
        order="fifo",
        rule="first GPUs, server by server",
        search="theta by bisection",
        options=frozenset({"theta"}),
        summary="packs from the first server on",
        solve=solve_first_fit,
    ),
    Policy(
        name="list-scheduling",
        order="fifo",
        rule="least loaded GPUs",
        search="theta by bisection",
        options=frozenset({"theta"}),
        summary="balances GPUs, spreads jobs widely",
        solve=solve_list_scheduling,
    ),
    Policy(
        name="random",
        order="fifo",
        rule="any GPUs",
        search="none (theta = T)",
        options=frozenset({"theta", "seed"}),
        summary="what not to lose against",
        solve=solve_random,
    ),
    Policy(
        name="longest-first",
        order="longest-first",
        rule="tightest server, else fewest",
        search="none",
        options=frozenset(),
        summary="long jobs early, packed tightly; the baseline to beat",
        solve=solve_best_fit,
    ),
    Policy(
        name="lwf",
        order="smallest-area-first",
        rule="least loaded GPUs up to kappa, least busy servers above",
        search="none (kappa = 1)",
        options=frozenset({"kappa"}),
        summary="LWF-kappa (Wang et al. 2020): SJF-BCO's rule without theta and lambda",
        solve=solve_lwf,
    ),
    Policy(
        name="free-links",
        order="smallest-area-first",
        rule="best fit, never over a link in use",
        search="none",
        options=frozenset(),
        summary="spread jobs wait for free links, or a free lane if they are reserved",
        solve=solve_free_links,
    ),
    Policy(
        name="adaptive-overlap",
        order="smallest-area-first",
        rule="best fit, over a link in use if that pays",
        search="none",
        options=frozenset(),
        summary="two spread jobs share a link only if it lowers the sum of their completions",
        solve=solve_adaptive_overlap,
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
)


def policy_named(name: str) -> Policy:
    """Return the policy of that name, or say which there are."""
    for policy in POLICIES:
        if policy.name == name:
            return policy
    raise UnknownName("policy", name, [policy.name for policy in POLICIES])
