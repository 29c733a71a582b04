"""`plan` and `simulate` with limits and callbacks as plain arguments, as many tests vary them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ringsched


def plan(
    scenario: ringsched.Scenario,
    policy: Any = "search",
    *,
    time_limit_s: float | None = None,
    iterations: int | None = None,
    gap: float | None = None,
    threads: int | None = None,
    on_trial: Callable[[], None] | None = None,
    on_progress: Callable[[Any], None] | None = None,
    on_better: Callable[[ringsched.Plan], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    **options: Any,
) -> ringsched.Plan:
    stop = ringsched.Stop(time_limit_s=time_limit_s, max_schedules=iterations, gap=gap)
    methods = {"trial": on_trial, "progress": on_progress, "better": on_better, "should_stop": should_stop}
    observer = observing(**{name: method for name, method in methods.items() if method is not None})
    return ringsched.plan(scenario, policy, stop=stop, workers=threads, observer=observer, **options)


def simulate(
    scenario: ringsched.Scenario,
    policy: Any = "fifo",
    *,
    time_limit_s: float | None = None,
    iterations: int | None = None,
    **options: Any,
) -> ringsched.Simulation:
    stop = ringsched.Stop(time_limit_s=time_limit_s, max_schedules=iterations)
    return ringsched.simulate(scenario, policy, stop=stop, **options)


def observing(**methods: Callable[..., Any]) -> ringsched.Observer:
    """Return an observer with these methods."""
    own = {name: (lambda _, *given, method=method: method(*given)) for name, method in methods.items()}
    return type("Seen", (ringsched.Observer,), own)()  # type: ignore[no-any-return]
