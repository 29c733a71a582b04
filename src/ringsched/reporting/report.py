"""`report()`: plans of one scenario as a page to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringsched.model import Plan, Scenario
from ringsched.model.checks import instance
from ringsched.reporting.data import report_data
from ringsched.reporting.html import page_of

Plans = Plan | Sequence[Plan] | Mapping[str, Plan]


def report(scenario: Scenario, plans: Plans) -> str:
    """Return one self-contained HTML page that shows plans of a scenario.

    Parameters
    ----------
    scenario
        What the plans are for.
    plans
        A plan, several, or several by the labels they shall have; without labels they have their policies'
        names. Several plans are compared.

    Raises
    ------
    InputError
        A plan was made for another scenario. A plan that is invalid is shown, with what is wrong about it.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> page = ringsched.report(scenario, ringsched.plan(scenario, "first-fit"))
    >>> page.startswith("<!doctype html>")
    True
    """
    return page_of(report_data(instance(scenario, "scenario", Scenario), labelled(plans)))


def labelled(plans: Plans) -> dict[str, Plan]:
    """Return plans by their labels, each label once.

    Examples
    --------
    >>> plan = Plan(
    ...     scenario_sha256="0",
    ...     policy="fifo",
    ...     makespan_s=0,
    ...     mean_completion_s=0,
    ...     lower_bound_s=0,
    ...     gap=1,
    ...     jobs=(),
    ... )
    >>> list(labelled([plan, plan]))
    ['fifo', 'fifo (2)']
    """
    if isinstance(plans, Mapping):
        return {str(label): instance(plan, "plans", Plan) for label, plan in plans.items()}
    listed = [plans] if isinstance(plans, Plan) else list(plans)
    by_label: dict[str, Plan] = {}
    for at, plan in enumerate(listed):
        policy = instance(plan, f"plans[{at}]", Plan).policy
        same = sum(other.policy == policy for other in listed[:at])
        by_label[f"{policy} ({same + 1})" if same else policy] = plan
    return by_label
