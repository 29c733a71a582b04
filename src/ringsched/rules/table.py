"""Placement rules as data: the table of ours, and the kernel that asks the one in force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType

from ringsched.engine.state import IDLE, NUM_IDLE, Arrays, Integers, State
from ringsched.errors import InputError
from ringsched.jit import Swaps, kernel, part
from ringsched.model.eligibility import ANY_PARTS
from ringsched.rules.adaptive_overlap import adaptive_overlap
from ringsched.rules.balanced import balanced
from ringsched.rules.best_fit import best_fit
from ringsched.rules.eligible import hide, is_balanced, narrow, reveal, widen
from ringsched.rules.first_fit import first_fit
from ringsched.rules.free_links import free_links
from ringsched.rules.layout import is_split
from ringsched.rules.least_loaded import least_loaded
from ringsched.rules.least_workload import least_workload
from ringsched.rules.quiet_links import few_on_links, fullest_servers, quiet_links, waiting_for_server
from ringsched.rules.random_fit import random_fit
from ringsched.rules.shared import Queue, Scratch

# Writes the GPUs of a job into `state.chosen`, ascending, and returns True; or False if it has to wait.
Place = Callable[[Arrays, State, Scratch, Queue, int, int, int], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """A placement rule: a kernel, and what others need to know of it.

    Parameters
    ----------
    place
        A kernel: a function `(arrays, state, scratch, queue, job, limit, kappa) -> bool` that numba can
        compile. It is asked only when the cluster has as many idle GPUs as the job needs. `limit` is what
        the load of a GPU may be at most, `kappa` the parameter of the policy.
    by_links
        Whether it may refuse a job for what is on links, although enough GPUs are idle.
    draws
        Whether it uses up the random numbers of the queue.
    by_count
        Whether it places every job for which enough GPUs are idle.
    by_size
        Whether it chooses the same GPUs for all jobs of a size, at any time, until a job starts or ends.
    """

    name: str
    place: Place
    by_links: bool = False
    draws: bool = False
    by_count: bool = False
    by_size: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.place, FunctionType):
            problem = "must be a plain Python function; ringsched compiles it"
            raise InputError(problem, field="place", place=f"rule {self.name!r}")
        kernel(self.place)

    @property
    def number(self) -> int:
        """Its place in the table, by which kernels know it; OWN for a rule of the user's."""
        return RULES.index(self) if self in RULES else OWN

    @property
    def own(self) -> Place | None:
        """The kernel of a rule of the user's; None for a rule of ours."""
        return self.place if self.number == OWN else None

    @property
    def swaps(self) -> Swaps:
        """What is compiled instead of `ask` and `own_rule` for a rule of the user's."""
        return {ask: ask_own, own_rule: self.place}


@kernel
def fixed(arrays: Arrays, state: State, job: int, planned: Integers) -> bool:
    """Choose the planned GPUs, once the last of them is free."""
    offset = arrays.gpu_first[job]
    for at in range(arrays.gpus[job]):
        gpu = planned[offset + at]
        if state.holder[gpu] != IDLE:
            return False
        state.chosen[at] = gpu
    return True


@kernel
def as_planned(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Choose the GPUs that the queue lists for the job."""
    return fixed(arrays, state, job, queue.planned)


OWN = -1
_AS_PLANNED = 5
# A new rule also needs a line in `ask`.
RULES = (
    Rule("first-fit", first_fit, by_count=True, by_size=True),
    Rule("least-loaded", least_loaded, by_count=True, by_size=True),
    Rule("random", random_fit, draws=True),
    Rule("best-fit", best_fit, by_count=True, by_size=True),
    Rule("balanced", balanced),
    Rule("as-planned", as_planned, by_links=True),
    Rule("least-workload", least_workload, by_count=True, by_size=True),
    Rule("free-links", free_links, by_links=True, by_size=True),
    Rule("adaptive-overlap", adaptive_overlap, by_links=True),
    Rule("quiet-links", quiet_links, by_count=True, by_size=True),
    Rule("waiting-for-server", waiting_for_server, by_links=True, by_size=True),
    Rule("few-on-links", few_on_links, by_links=True, by_size=True),
    Rule("fullest-servers", fullest_servers, by_links=True, by_size=True),
)
(
    FIRST_FIT,
    LEAST_LOADED,
    RANDOM_FIT,
    BEST_FIT,
    BALANCED,
    AS_PLANNED,
    LEAST_WORKLOAD,
    FREE_LINKS,
    ADAPTIVE_OVERLAP,
    QUIET_LINKS,
    WAITING_FOR_SERVER,
    FEW_ON_LINKS,
    FULLEST_SERVERS,
) = RULES


@kernel
def place(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    queue: Queue,
    rule: int,
    own: Place | None,
    job: int,
    limit: int,
    kappa: int,
) -> bool:
    """Choose GPUs that the job may use, by a rule; False if it has to wait."""
    wanted = arrays.gpus[job]
    if state.counts[NUM_IDLE] < wanted:
        return False
    if not arrays.permits.restricted[job] or rule == _AS_PLANNED:
        return ask(arrays, state, scratch, queue, rule, own, job, limit, kappa)
    hide(arrays, state, scratch, job)
    if rule == OWN and arrays.permits.parts[job] != ANY_PARTS:
        found = _ask_for_parts(arrays, state, scratch, queue, rule, own, job, limit, kappa)
    else:
        found = state.counts[NUM_IDLE] >= wanted and ask(
            arrays, state, scratch, queue, rule, own, job, limit, kappa
        )
    reveal(arrays, state, scratch)
    return found


@part
def _ask_for_parts(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    queue: Queue,
    rule: int,
    own: Place | None,
    job: int,
    limit: int,
    kappa: int,
) -> bool:
    """Show a rule of the user's equally many GPUs on every server, until its choice is balanced."""
    wanted, found = arrays.gpus[job], False
    for num_parts in range(1, min(wanted, arrays.num_servers) + 1):
        if is_split(arrays, job, num_parts):
            narrow(arrays, state, scratch, wanted // num_parts)
            found = (
                state.counts[NUM_IDLE] >= wanted
                and ask(arrays, state, scratch, queue, rule, own, job, limit, kappa)
                and is_balanced(arrays, state, job)
            )
            widen(arrays, state, scratch)
            if found:
                break
    return found


@kernel
def ask(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    queue: Queue,
    rule: int,
    own: Place | None,
    job: int,
    limit: int,
    kappa: int,
) -> bool:
    """Choose GPUs for the job by a rule; False if it has to wait."""
    if own is not None:
        return own(arrays, state, scratch, queue, job, limit, kappa)
    if rule == 0:
        return first_fit(arrays, state, scratch, queue, job, limit, kappa)
    if rule == 1:
        return least_loaded(arrays, state, scratch, queue, job, limit, kappa)
    if rule == 2:
        return random_fit(arrays, state, scratch, queue, job, limit, kappa)
    if rule == 3:
        return best_fit(arrays, state, scratch, queue, job, limit, kappa)
    if rule == 4:
        return balanced(arrays, state, scratch, queue, job, limit, kappa)
    if rule == 5:
        return as_planned(arrays, state, scratch, queue, job, limit, kappa)
    if rule == 6:
        return least_workload(arrays, state, scratch, queue, job, limit, kappa)
    if rule == 7:
        return free_links(arrays, state, scratch, queue, job, limit, kappa)
    if rule == 8:
        return adaptive_overlap(arrays, state, scratch, queue, job, limit, kappa)
    if rule == 9:
        return quiet_links(arrays, state, scratch, queue, job, limit, kappa)
    if rule == 10:
        return waiting_for_server(arrays, state, scratch, queue, job, limit, kappa)
    if rule == 11:
        return few_on_links(arrays, state, scratch, queue, job, limit, kappa)
    return fullest_servers(arrays, state, scratch, queue, job, limit, kappa)


@kernel
def ask_own(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    queue: Queue,
    rule: int,
    own: Place | None,
    job: int,
    limit: int,
    kappa: int,
) -> bool:
    """Choose GPUs for the job by a rule of the user's, where one is compiled."""
    return own_rule(arrays, state, scratch, queue, job, limit, kappa)


@kernel
def own_rule(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Be replaced by the user's rule."""
    return False
