"""Plan files: JSON, a job a line, the same bytes for the same plan."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import Any

from ringsched.errors import InputError
from ringsched.formats.decode import array, build, check_keys, parse_json, table
from ringsched.formats.files import write_text
from ringsched.model import Bound, Certificate, Placement, Plan, PlannedJob
from ringsched.model.checks import shown

FORMAT = "ringsched-plan/1"

REQUIRED_KEYS = (
    "format",
    "scenario_sha256",
    "policy",
    "params",
    "seed",
    "objective",
    "makespan_s",
    "mean_completion_s",
    "lower_bound_s",
    "gap",
    "jobs",
)
OPTIONAL_KEYS = ("weighted_completion_s", "max_slowdown", "order", "slack", "ended", "bounds", "certificate")
UNREAD_KEY = "simulation"  # what `simulate --json` adds
JOB_KEYS = ("name", "start_s", "finish_s", "gpus", "ring")


def plan_to_json(plan: Plan) -> str:
    """Return the text of a plan file."""
    head = {"format": FORMAT} | {key: getattr(plan, key) for key in REQUIRED_KEYS[1:-1]}
    head["params"] = dict(plan.params)
    optional = {key: getattr(plan, key) for key in OPTIONAL_KEYS[:5]}
    head |= {key: value for key, value in optional.items() if value is not None}
    lines = [f" {json.dumps(key)}: {_dumps(value)}," for key, value in head.items()]
    bounds = [
        {"name": bound.name, "value_s": bound.value_s, "terms": dict(bound.terms)} for bound in plan.bounds
    ]
    if plan.certificate is not None:
        lines.append(f' "certificate": {_dumps(asdict(plan.certificate))},')
    lines += [f' "bounds": {_lines(bounds)},', f' "jobs": {_lines([_job(job) for job in plan.jobs])}']
    return "\n".join(["{", *lines, "}", ""])


def save_plan(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan file, atomically."""
    write_text(Path(path), plan_to_json(plan))


def load_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan file, or raise an InputError that names file, place and field."""
    path = Path(path)
    try:
        return plan_from_dict(parse_json(path))
    except InputError as error:
        raise error if error.file else error.located(file=str(path)) from None


def plan_from_dict(content: Mapping[str, Any]) -> Plan:
    """Return the plan written as nested dicts; its form is checked, not whether it is right."""
    if "format" not in content:
        raise InputError(
            "is a scenario, not a plan" if "cluster" in content else "format is missing: not a plan"
        )
    if content["format"] != FORMAT:
        raise InputError(f'must be "{FORMAT}", not {shown(content["format"])}', field="format")
    check_keys(content, (*REQUIRED_KEYS, *OPTIONAL_KEYS, UNREAD_KEY), REQUIRED_KEYS, None)
    fields = {key: value for key, value in content.items() if key not in ("format", UNREAD_KEY)}
    fields["params"] = table(content["params"], "params")
    fields["bounds"] = tuple(
        _bound(table(entry, f"bounds[{at}]"), f"bounds[{at}]")
        for at, entry in enumerate(array(content.get("bounds", []), "bounds"))
    )
    fields["jobs"] = tuple(
        _planned_job(table(entry, f"jobs[{at}]"), f"jobs[{at}]")
        for at, entry in enumerate(array(content["jobs"], "jobs"))
    )
    if "certificate" in content:
        fields["certificate"] = _certificate(table(content["certificate"], "certificate"))
    return build(Plan, fields, None)


def _planned_job(fields: dict[str, Any], place: str) -> PlannedJob:
    check_keys(fields, JOB_KEYS, JOB_KEYS, place)
    gpus = build(Placement, {"gpus": fields["gpus"]}, f"{place}: gpus")
    return build(PlannedJob, fields | {"gpus": gpus}, place)


def _bound(fields: dict[str, Any], place: str) -> Bound:
    check_keys(fields, ("name", "value_s", "terms"), ("name", "value_s", "terms"), place)
    return build(Bound, fields | {"terms": table(fields["terms"], f"{place}: terms")}, place)


def _certificate(figures: dict[str, Any]) -> Certificate:
    keys = [field.name for field in dataclass_fields(Certificate)]
    check_keys(figures, keys, keys, "certificate")
    return build(Certificate, figures, "certificate")


def _job(job: PlannedJob) -> dict[str, Any]:
    return {
        "name": job.name,
        "start_s": job.start_s,
        "finish_s": job.finish_s,
        "gpus": {server: list(held) for server, held in job.gpus.items()},
        "ring": [list(worker) for worker in job.ring],
    }


def _lines(entries: list[dict[str, Any]]) -> str:
    inner = ",\n".join(f"  {_dumps(entry)}" for entry in entries)
    return f"[\n{inner}\n ]" if entries else "[]"


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
