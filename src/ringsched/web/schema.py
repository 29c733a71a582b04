"""The form of scenarios and plans for OpenAPI, taken from the classes that check them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from ringsched.formats.job_description import BYTES, SHARDINGS
from ringsched.formats.plan import FORMAT, JOB_KEYS, REQUIRED_KEYS, UNREAD_KEY
from ringsched.model import OBJECTIVES, Cluster, Contention, Job, Server, Switch, Time
from ringsched.model.cluster import RACKS, SWITCHES
from ringsched.model.contention import model_names
from ringsched.model.eligibility import LAYOUTS

Schema = dict[str, Any]
_PLAIN: Mapping[Any, Schema] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
}
_GPUS: Schema = {
    "type": "object",
    "additionalProperties": {"type": "array", "items": {"type": "integer"}},
    "description": "GPUs by server",
}


# The smallest values, where there are such; all are checked by the classes themselves.
_POSITIVE = {"exclusiveMinimum": 0}
_RANGES: Mapping[str, Schema] = {
    **{
        key: {"minimum": 1}
        for key in ("gpus", "iterations", "minibatch", "server_slack", "count", "lanes", "buckets")
    },
    **dict.fromkeys(("inter_server_gbps", "intra_server_gbps", "reduce_gbps", "uplink_gbps"), _POSITIVE),
    **dict.fromkeys(("slot_s", "horizon_s", "weight", "estimate_s", "limit_s"), _POSITIVE),
    **{key: {"minimum": 0} for key in ("gradient_mb", "forward_ms", "backward_ms", "done_iterations")},
    **{key: {"minimum": 0} for key in ("degradation", "server_latency_ms", "deadline_s")},
    "share": {"exclusiveMinimum": 0, "maximum": 1},
    "name": {"minLength": 1},
}


def object_schema(properties: Mapping[str, Schema], required: Iterable[str]) -> Schema:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def class_schema(kind: type, **changed: Schema | None) -> Schema:
    """Return the schema of a class of the model; `changed` replaces properties, or leaves them out.

    Examples
    --------
    >>> class_schema(Switch, name=None)["properties"]
    {'uplink_gbps': {'type': 'number', 'exclusiveMinimum': 0}, 'parent': {'type': 'string'}}
    """
    hints = get_type_hints(kind)
    properties = {
        field.name: changed.get(field.name) or _type_schema(hints[field.name]) | _RANGES.get(field.name, {})
        for field in fields(kind)
    }
    left_out = {name for name, schema in changed.items() if schema is None}
    needed = [field.name for field in fields(kind) if field.default is MISSING and field.name not in left_out]
    needed = [name for name in needed if _has_no_default(kind, name)]
    extra = {name: schema for name, schema in changed.items() if schema is not None}
    kept = {name: schema for name, schema in (properties | extra).items() if name not in left_out}
    return object_schema(kept, needed)


def _has_no_default(kind: type, name: str) -> bool:
    return next(field for field in fields(kind) if field.name == name).default_factory is MISSING


def _type_schema(hint: Any) -> Schema:
    if isinstance(hint, UnionType):
        return _type_schema(next(part for part in get_args(hint) if part is not NoneType))
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _type_schema(get_args(hint)[0])}
    return _PLAIN.get(hint, {})


_MODEL: Schema = {"type": "string", "description": "of the catalogue; fills in what the job does not state"}

TIME = class_schema(Time, model={"enum": ["slotted", "continuous"]})

CONTENTION = class_schema(Contention, model={"enum": list(model_names())})

_LABELS: Schema = {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}}

JOB = class_schema(
    Job,
    running_on=_GPUS,
    requires=_LABELS,
    layout={"enum": list(LAYOUTS)},
    model=_MODEL,
    parameters_m={"type": "number", "minimum": 0},
    precision={"enum": list(BYTES)},
    iteration_ms={"type": "number", **_POSITIVE},
    accumulation={"type": "integer", "minimum": 1},
    bucket_mib={"type": "number", **_POSITIVE},
    sharding={"enum": list(SHARDINGS)},
)
JOB["required"] = ["name", "gpus", "iterations"]  # the model may give the rest

NEW_JOB = JOB | {"required": ["gpus", "iterations"]}

# Several links, such as the NICs of a server, are summed.
_SPEED: Schema = {"type": "number"} | _POSITIVE
_LINKS: Schema = {"anyOf": [_SPEED, {"type": "array", "items": _SPEED, "minItems": 1}]}

_INSIDE: Schema = {
    "anyOf": [
        _SPEED,
        {
            "type": "object",
            "properties": {"2": _SPEED},
            "required": ["2"],
            "patternProperties": {"^([2-9]|[1-9][0-9]{1,5})$": _SPEED},
            "additionalProperties": False,
            "description": "by the number of GPUs that a job uses in the server",
        },
    ]
}

SERVER = class_schema(
    Server,
    uplink_gbps=_LINKS,
    labels=_LABELS,
    unavailable_windows={
        "type": "array",
        "items": {"type": "array", "items": {"type": "number", "minimum": 0}, "minItems": 2, "maxItems": 2},
    },
    count={"type": "integer", "minimum": 1},
    **{RACKS.one: {"type": "string"}},
)
SERVER["required"] = ["gpus"]

SWITCH_TABLE: Schema = {
    "type": "object",
    "additionalProperties": class_schema(Switch, name=None, uplink_gbps=_LINKS),
}

SCENARIO = object_schema(
    {
        "name": {"type": "string"},
        "time": TIME,
        "cluster": class_schema(
            Cluster,
            inter_server_gbps=_LINKS,
            intra_server_gbps=_INSIDE,
            intra_server_steps=None,
            servers={"type": "array", "items": SERVER, "minItems": 1},
            **{words.table: SWITCH_TABLE for words in (SWITCHES, RACKS)},
        ),
        "contention": CONTENTION,
        "jobs": {"type": "array", "items": JOB},
        "jobs_layout": {"enum": list(LAYOUTS)},
    },
    ["cluster"],
) | {"description": "The JSON of a scenario file, with its jobs inside."}

_PLANNED_JOB = object_schema(
    {
        "name": {"type": "string"},
        "start_s": {"type": "number"},
        "finish_s": {"type": "number"},
        "gpus": _GPUS,
        "ring": {"type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2, "items": {}}},
    },
    JOB_KEYS,
)
_TOTALS = (
    "makespan_s",
    "mean_completion_s",
    "lower_bound_s",
    "gap",
    "weighted_completion_s",
    "max_slowdown",
    "slack",
)

PLAN = object_schema(
    {
        "format": {"const": FORMAT},
        "scenario_sha256": {"type": "string"},
        "policy": {"type": "string"},
        "order": {"type": "string"},
        "params": {"type": "object"},
        "seed": {"type": "integer"},
        "objective": {"enum": list(OBJECTIVES)},
        **{name: {"type": "number"} for name in _TOTALS},
        "bounds": {"type": "array", "items": {"type": "object"}},
        "certificate": {"type": "object"},
        "jobs": {"type": "array", "items": _PLANNED_JOB},
        UNREAD_KEY: {},
    },
    REQUIRED_KEYS,
) | {"description": "The JSON of a plan file."}

CHANGE = object_schema(
    {
        "add_servers": {
            "oneOf": [
                {"type": "integer", "minimum": 1},
                object_schema({"count": {"type": "integer"}, "gpus": {"type": "integer"}}, ["count"]),
            ]
        },
        "remove_server": {"type": "string"},
        "inter_server_gbps": {"type": "number", **_POSITIVE},
        "link_factor": {
            "oneOf": [
                {"type": "number", **_POSITIVE},
                object_schema(
                    {
                        "factor": {"type": "number", **_POSITIVE},
                        "level": {"type": ["integer", "null"], "minimum": 0},
                    },
                    ["factor"],
                ),
            ]
        },
        "contention": class_schema(Contention, model={"enum": list(model_names())}, table=None),
    },
    [],
) | {"minProperties": 1, "description": "One change, or several that hold together."}
