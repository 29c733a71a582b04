"""`ringsched policies`."""

from __future__ import annotations

import json
from typing import Any

import click

from ringsched import api
from ringsched.analysis.as_json import policies_data
from ringsched.cli.command import Command, option
from ringsched.cli.options import json_option


@click.command("policies", cls=Command)
@option("--online", is_flag=True, help="List the policies of `ringsched simulate` instead.")
@json_option("Print the table as JSON.")
def policies_command(online: bool, as_json: bool) -> None:
    """List the policies: queue order, placement rule and options."""
    if as_json:
        click.echo(json.dumps(_online_data() if online else policies_data(), indent=1))
        return
    from ringsched.cli.tables import print_policies  # rich, which JSON does without

    print_policies(api.list_policies(online=online), tuple(api.ORDERS), online=online)


def _online_data() -> list[dict[str, Any]]:
    return [
        {
            "name": policy.name,
            "order": policy.order,
            "rule": policy.rule,
            "options": sorted(policy.online or ()),
            "may_starve": policy.may_starve,
            "summary": policy.summary,
        }
        for policy in api.list_policies(online=True)
    ]
