"""`ringsched policies`."""

from __future__ import annotations

import json

import click

from ringsched import api


@click.command("policies")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def policies_command(as_json: bool) -> None:
    """List the policies: queue order, placement rule, search."""
    if not as_json:
        from ringsched.cli.tables import print_policies

        print_policies(api.list_policies(), tuple(api.ORDERS))
        return
    rows = [
        {
            "name": policy.name,
            "order": policy.order,
            "rule": policy.rule,
            "search": policy.search,
            "options": sorted(policy.options),
            "summary": policy.summary,
        }
        for policy in api.list_policies()
    ]
    click.echo(json.dumps(rows, indent=1))
