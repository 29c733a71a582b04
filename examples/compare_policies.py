"""Plan one scenario by every policy and print how they compare.

Usage: python examples/compare_policies.py SCENARIO
"""

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

import ringsched


def main(path: str) -> None:
    try:
        scenario = ringsched.load_scenario(path)
    except ringsched.InputError as error:
        sys.exit(str(error))
    table = Table(box=None, pad_edge=False)
    for column in ("policy", "makespan", "mean completion", "gap"):
        table.add_column(column, justify="left" if column == "policy" else "right")
    for policy in ringsched.list_policies():
        try:
            plan = ringsched.plan(scenario, policy.name)
        except ringsched.Infeasible as error:
            table.add_row(policy.name, error.status, "", "")
            continue
        table.add_row(
            policy.name, f"{plan.makespan_s:.0f} s", f"{plan.mean_completion_s:.0f} s", f"{plan.gap:.2f}"
        )
    bound = ringsched.lower_bounds(scenario)[0]
    table.add_row("(lower bound)", f"{bound.value_s:.0f} s", "", "")
    Console(width=100).print(table)


if __name__ == "__main__":
    default = str(Path(__file__).with_name("first.toml"))
    main(sys.argv[1] if len(sys.argv) > 1 else default)
