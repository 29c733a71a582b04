"""`ringsched policies`."""

from __future__ import annotations

import json

import click

from ringsched import api
from ringsched.cli.options import json_option
from ringsched.online.simulate import list_online_policies


@click.command("policies")
@click.option("--online", is_flag=True, help="Those of `ringsched simulate` instead.")
@json_option("Print the table as JSON.")
def policies_command(online: bool, as_json: bool) -> None:
    """List the policies: queue order, placement rule, search."""
    if online:
        _list_online(as_json)
        return
    if not as_json:
        from ringsched.cli.tables import print_policies

        print_policies(api.list_policies(), tuple(api.ORDERS))
        return
    from ringsched.analysis.as_json import policies_data

    click.echo(json.dumps(policies_data(), indent=1))


def _list_online(as_json: bool) -> None:
    if not as_json:
        from ringsched.cli.tables import print_online_policies

        print_online_policies(list_online_policies(), tuple(api.ORDERS))
        return
    rows = [
        {
            "name": policy.name,
            "order": policy.order,
            "rule": policy.rule,
            "options": sorted(policy.options),
            "summary": policy.summary,
        }
        for policy in list_online_policies()
    ]
    click.echo(json.dumps(rows, indent=1))
