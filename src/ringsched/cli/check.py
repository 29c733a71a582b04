"""`ringsched check`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from ringsched.analysis.check import JobKind, LinkLevel, ScenarioCheck, check
from ringsched.cli.command import Command
from ringsched.cli.files import check_no_input, check_output, put_scenario, written_line
from ringsched.cli.options import json_option, output_option, scenario_argument, set_option
from ringsched.cli.tables import figures_table, show
from ringsched.errors import InputError
from ringsched.formats.scenario import load_scenario, locate
from ringsched.formatting import counted, duration
from ringsched.model import Cluster, Contention, Scenario


@click.command("check", cls=Command)
@scenario_argument
@set_option
@output_option("Write the scenario as understood, with every --set and all defaults.")
@json_option("Print the result as JSON.")
def check_command(
    scenario_file: Path, overrides: tuple[str, ...], output: Path | None, as_json: bool
) -> None:
    """Show how a scenario is understood; warn about mistakes.

    Prints servers, links, contention and time. For every kind of job it prints the time of one iteration
    alone and spread over servers, the share of the exchange, and the part of it that the backward pass
    hides. The exit code is 0 also with warnings; it is 2 if the scenario is wrong.
    """
    check_output(output)
    scenario = load_scenario(scenario_file, overrides)
    check_no_input([output], scenario_file)
    try:
        found = check(scenario)
    except InputError as error:
        raise locate(error, scenario_file) from None
    if output is not None:
        put_scenario(scenario, output)
    if as_json:
        click.echo(json.dumps(_content(found), indent=1, ensure_ascii=False))
        return
    written = [] if output is None else ["", written_line(output)]
    show([*_head(scenario), *map(link_line, found.links), *_kinds(found), *_warnings(found), *written])


def _content(found: ScenarioCheck) -> dict[str, Any]:
    scenario = found.scenario
    return {
        "name": scenario.name,
        "scenario_sha256": scenario.sha256(),
        "num_servers": len(scenario.cluster.servers),
        "num_gpus": scenario.cluster.capacity,
        "num_jobs": len(scenario.jobs),
        "contention": scenario.contention.expanded(),
        "time": scenario.time.expanded(),
        "links": [asdict(link) for link in found.links],
        "kinds": [asdict(kind) for kind in found.kinds],
        "warnings": list(found.warnings),
    }


def _head(scenario: Scenario) -> list[str]:
    cluster, time = scenario.cluster, scenario.time
    sizes: dict[int, int] = {}
    for server in cluster.servers:
        sizes[server.gpus] = sizes.get(server.gpus, 0) + 1
    of = ", ".join(f"{count} with {counted(gpus, 'GPU')}" for gpus, count in sorted(sizes.items()))
    num_gpus = sum(server.gpus for server in cluster.servers)
    unavailable = sum(len(server.unavailable) for server in cluster.servers)
    out = f", {unavailable} of them unavailable" if unavailable else ""
    running = sum(job.is_running for job in scenario.jobs)
    already = f", {running} of them running already" if running else ""
    clock = f"slots of {duration(time.slot_s)}" if time.slotted else "continuous"
    horizon = "" if time.horizon_s is None else f", horizon {duration(time.horizon_s)}"
    return [
        f"scenario    {scenario.name or 'without a name'}: {counted(len(scenario.jobs), 'job')}{already}",
        f"servers     {len(cluster.servers)} ({of}): {counted(num_gpus, 'GPU')}{out}",
        f"time        {clock}{horizon}",
        f"contention  {_contention(scenario.contention)}",
        f"in servers  {_inside(cluster)}, reduction {cluster.reduce_gbps:g} Gbit/s",
    ]


def _inside(cluster: Cluster) -> str:
    """Return the speed inside servers, and from how many GPUs on it is another."""
    steps = [f"{gbps:g} from {gpus} GPUs on" for gpus, gbps in cluster.intra_server_steps[1:]]
    return ", ".join([f"{cluster.intra_server_gbps:g} Gbit/s", *steps])


def _contention(contention: Contention) -> str:
    fields = {key: value for key, value in contention.expanded().items() if key != "model"}
    given = ", ".join(
        f"{key} {value:g}" if not isinstance(value, list) else f"{key} {value}"
        for key, value in fields.items()
    )
    return f"model {contention.model_name}, {given}" if given else f"model {contention.model_name}"


def link_line(link: LinkLevel) -> str:
    """Return a line about the links of one level and speed."""
    what = "server" if link.level == 0 else "switch" if link.level == 1 else f"switch of level {link.level}"
    line = f"links       {counted(link.count, 'uplink')} of a {what}, {link.uplink_gbps:g} Gbit/s"
    if link.oversubscription is None:
        return line
    return f"{line}, oversubscription {link.oversubscription:.3g} : 1"


def _kinds(found: ScenarioCheck) -> list[str | Table]:
    if not found.kinds:
        return []
    table = figures_table(
        "job",
        "jobs",
        "GPUs",
        "iteration\nalone",
        "iteration\nspread",
        "over\nservers",
        "exchange\nshare",
        "hidden\nshare",
        "duration\nalone",
    )
    for kind in found.kinds:
        table.add_row(*_cells(kind))
    return [
        "",
        table,
        "spread: over the fewest servers that are at least two, without contention",
        "hidden: part of the spread exchange that the backward pass hides",
    ]


def _cells(kind: JobKind) -> tuple[str, ...]:
    shortest, longest = map(duration, kind.best_case_s)
    return (
        kind.jobs[0] if len(kind.jobs) == 1 else f"{kind.jobs[0]}, ...",
        str(len(kind.jobs)),
        str(kind.gpus),
        _iteration(kind.alone_s),
        "" if kind.spread_s is None else _iteration(kind.spread_s),
        "" if kind.spread_s is None else str(kind.num_servers),
        f"{100 * kind.exchange_share:.0f} %",
        f"{100 * kind.hidden_share:.0f} %",
        shortest if shortest == longest else f"{shortest} to {longest}",
    )


def _iteration(tau_s: float) -> str:
    return f"{1e3 * tau_s:.4g} ms" if tau_s < 10 else duration(tau_s)


def _warnings(found: ScenarioCheck) -> list[str]:
    lines = [f"Warning: {warning}" for warning in found.warnings]
    return ["", *(lines or ["no warnings"])]
