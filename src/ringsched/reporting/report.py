"""`report()`: plans of one scenario as one HTML file that asks no network for anything."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ringsched.model import Plan, Scenario
from ringsched.model.checks import instance
from ringsched.reporting.assets import script, style
from ringsched.reporting.data import report_data

# What a browser would take for the end of the data, or of a line of script.
RISKY = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

# Nothing may be loaded from anywhere; of style and script only those whose digests the page names.
NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'"

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="ringsched {version}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This report draws its pictures by JavaScript, which is switched off here.</noscript>
<main id="report"></main>
<script type="application/json" id="report-data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def page_of(data: dict[str, Any]) -> str:
    """Return the page of a report; the same data give the same bytes."""
    css, program = style(), script("report.js")
    policy = f"{NOTHING}; style-src '{_digest(css)}'; script-src '{_digest(program)}'"
    return PAGE.format(
        policy=policy,
        version=html.escape(data["version"]),
        title=html.escape(f"{data['name']} – ringsched"),
        style=css,
        data=embedded(data),
        script=program,
    )


def embedded(data: dict[str, Any]) -> str:
    """Return JSON that can stand inside a script element, whatever the names in it are.

    Examples
    --------
    >>> embedded({"name": "</script>"}).count("<")
    0
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escaped in RISKY.items():
        text = text.replace(character, escaped)
    return text


def _digest(text: str) -> str:
    """Return what a Content-Security-Policy knows an inline element by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


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


def file_suffixes(labels: list[str]) -> list[str]:
    """Return file name suffixes that distinguish several plans; none for one plan.

    Examples
    --------
    >>> file_suffixes(["search"]), file_suffixes(["my plan", "../my:plan"])
    ([''], ['-my-plan', '-my-plan-2'])
    """
    if len(labels) == 1:
        return [""]
    suffixes: list[str] = []
    for label in labels:
        plain = re.sub(r"[^A-Za-z0-9_]+", "-", label).strip("-")[:60] or "plan"
        same = sum(re.fullmatch(rf"-{plain}(-\d+)?", other) is not None for other in suffixes)
        suffixes.append(f"-{plain}-{same + 1}" if same else f"-{plain}")
    return suffixes
