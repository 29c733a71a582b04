"""Wrong input ends with one clear sentence, exit code 2, and no file touched."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.helpers import (
    CSV_HEADER,
    DELETE,
    FULL,
    JOB,
    OLD_BYTES,
    csv_text,
    edited,
    plan_of,
    refused,
    run,
    run_process,
    sentence,
    write_json,
)

JOB_0, RUNNING, LATE, KNOWN = ("jobs", 0), ("jobs", 1), ("jobs", 2), ("jobs", 3)
CLUSTER, TIME, CONTENTION = ("cluster",), ("time",), ("contention",)
SERVER_0, SERVER_1 = ("cluster", "servers", 0), ("cluster", "servers", 1)

# name of the case: (edits of the full scenario, what the sentence must say)
EDITS: dict[str, tuple[dict[Any, Any], list[str]]] = {
    # unknown keys
    "key": ({("clusters",): {}}, ["unknown key 'clusters'", "did you mean 'cluster'?"]),
    "key-far": ({("zebra",): 1}, ["queue.json: unknown key 'zebra'"]),
    "key-cluster": ({(*CLUSTER, "reduce_gbs"): 1}, ["cluster: unknown key", "did you mean 'reduce_gbps'?"]),
    "key-server": (
        {(*SERVER_1, "gpu"): 1},
        ["cluster.servers[1]: unknown key 'gpu'", "did you mean 'gpus'?"],
    ),
    "key-rack": (
        {("cluster", "racks", "r2", "uplink"): 1},
        ["cluster.racks.r2: unknown key 'uplink'", "did you mean 'uplink_gbps'?"],
    ),
    "key-time": ({(*TIME, "slots"): 1}, ["time: unknown key 'slots'", "did you mean 'slot_s'?"]),
    "key-contention": (
        {(*CONTENTION, "shares"): 1},
        ["contention: unknown key 'shares'", "did you mean 'share'?"],
    ),
    "key-job": ({(*LATE, "iteration"): 1}, ["jobs[2] 'late': unknown key", "did you mean 'iterations'?"]),
    "key-unprintable": ({("a\nb",): 1}, [r"unknown key 'a\nb'"]),
    "rack-unprintable": (
        {("cluster", "racks", "a\nb"): 1},
        [r"queue.json: cluster.racks.'a\nb' must be a table, not 1"],
    ),
    # missing fields
    "no-cluster": ({CLUSTER: DELETE}, ["queue.json: cluster is missing"]),
    "no-servers": ({("cluster", "servers"): DELETE}, ["cluster: servers is missing"]),
    "no-speed": ({("cluster", "intra_server_gbps"): DELETE}, ["cluster: intra_server_gbps is missing"]),
    "no-server-gpus": ({(*SERVER_1, "gpus"): DELETE}, ["cluster.servers[1]: gpus is missing"]),
    "no-rack-uplink": (
        {("cluster", "racks", "r1", "uplink_gbps"): DELETE},
        ["cluster.racks.r1: uplink_gbps is missing"],
    ),
    **{f"no-job-{field}": ({(*JOB_0, field): DELETE}, ["jobs[0]", f"{field} is missing"]) for field in JOB},
    # wrong types
    "name-type": ({("name",): 3}, ["queue.json: name must be a string, not 3"]),
    "cluster-type": ({CLUSTER: 7}, ["cluster must be a table, not 7"]),
    "time-type": ({TIME: []}, ["time must be a table, not a list"]),
    "contention-type": ({CONTENTION: "paper"}, ["contention must be a table, not 'paper'"]),
    "servers-type": ({("cluster", "servers"): {}}, ["cluster.servers must be an array, not a table"]),
    "server-type": ({SERVER_0: 8}, ["cluster.servers[0] must be a table, not 8"]),
    "racks-type": ({("cluster", "racks"): []}, ["cluster.racks must be a table, not a list"]),
    "rack-type": ({("cluster", "racks", "r1"): 40}, ["queue.json: cluster.racks.r1 must be a table, not 40"]),
    "rack-name-type": ({(*SERVER_1, "rack"): 1}, ["cluster.servers[1]: rack must be a string, not 1"]),
    "jobs-type": ({("jobs",): {}}, ["jobs must be an array, not a table"]),
    "job-type": ({LATE: "late"}, ["jobs[2] must be a table, not 'late'"]),
    "job-name-type": ({(*LATE, "name"): 3}, ["jobs[2]: name must be a string, not 3"]),
    "job-name-blank": ({(*LATE, "name"): " "}, ["jobs[2] ' ': name must be printable and not blank"]),
    "job-name-unprintable": ({(*LATE, "name"): "a\nb"}, ["jobs[2]: name must be printable", r"is 'a\nb'"]),
    "model-type": ({(*KNOWN, "model"): 5}, ["jobs[3] 'known': model must be the name of a model, not 5"]),
    "unavailable-type": ({(*SERVER_1, "unavailable"): 3}, ["unavailable must be a list of GPU indices"]),
    "table-type": (
        {CONTENTION: {"table": "steep"}},
        ["contention: table must be a list of numbers, not 'steep'"],
    ),
    "running-type": ({(*RUNNING, "running_on"): [0]}, ["running_on must map server names to lists of GPUs"]),
    "running-gpus-type": ({(*RUNNING, "running_on"): {"b": 1}}, ["running_on.b must be a list of GPU"]),
    "jobs-file-type": ({("jobs",): DELETE, ("jobs_file",): 3}, ["jobs_file must be a string, not 3"]),
    "jobs-file-empty": ({("jobs",): DELETE, ("jobs_file",): ""}, ["jobs_file must be printable and not"]),
    # null is nothing at all, also where the field is optional
    "null": ({(*JOB_0, "gpus"): None}, ["jobs[0] 'first': gpus must not be null; leave it out"]),
    "null-optional": ({(*LATE, "estimate_s"): None}, ["jobs[2] 'late': estimate_s must not be null"]),
    "null-section": ({TIME: None}, ["queue.json: time must not be null"]),
    # the cluster as a whole
    "no-server": ({("cluster", "servers"): []}, ["cluster: servers must hold at least one server"]),
    "job-too-large": ({(*JOB_0, "gpus"): 99}, ["jobs[0] 'first': gpus = 99 is more than the 13 GPUs"]),
    "many-gpus": ({(*SERVER_0, "gpus"): 900_000}, ["cluster: servers hold more than 1000000 GPUs in all"]),
    "many-servers": ({(*SERVER_0, "count"): 10**7}, ["cluster.servers[0]: count must be at most 1000000"]),
    "duplicate-job": (
        {(*LATE, "name"): "first"},
        ["jobs[2]: name duplicates the job name 'first' of jobs[0]"],
    ),
    "duplicate-server": (
        {(*SERVER_1, "name"): "a-1"},
        ["cluster.servers[1]: name duplicates the server name 'a-1' of cluster.servers[0]"],
    ),
    "duplicate-default-name": (
        {(*SERVER_1, "name"): "s3"},
        ["cluster.servers[2]: name duplicates the server name 's3' of cluster.servers[1]"],
    ),
    "undefined-rack": (
        {(*SERVER_1, "rack"): "r9"},
        ["server 'b': rack names the unknown rack 'r9'", "choose from r1, r2"],
    ),
    "undefined-switch": (
        {(*SERVER_1, "rack"): DELETE, (*SERVER_1, "switch"): "r9"},
        ["server 'b': switch names the unknown switch 'r9'", "choose from r1, r2"],
    ),
    "rack-and-switch": (
        {(*SERVER_1, "switch"): "r2"},
        ["cluster.servers[1]: rack is another name of switch; keep one of them"],
    ),
    "switch-twice": (
        {("cluster", "switches"): {"r1": {"uplink_gbps": 5.0}}},
        ["cluster.racks.r1: name duplicates the switch name 'r1' of cluster.switches.r1"],
    ),
    "undefined-parent": (
        {("cluster", "racks", "r1", "parent"): "r3"},
        ["cluster.racks.r1: parent names the unknown switch 'r3'", "choose from r1, r2"],
    ),
    "parent-type": (
        {("cluster", "racks", "r1", "parent"): 3},
        ["cluster.racks.r1: parent must be a string, not 3"],
    ),
    "parent-of-itself": (
        {("cluster", "switches"): {"top": {"uplink_gbps": 5.0, "parent": "top"}}},
        ["cluster.switches.top: parent = 'top' leads back to 'top'; the network must be a tree"],
    ),
    "cycle": (
        {("cluster", "racks", "r1", "parent"): "r2", ("cluster", "racks", "r2", "parent"): "r1"},
        ["cluster.racks.r1: parent = 'r2' leads back to 'r1'; the network must be a tree"],
    ),
    "inner-switch-without-uplink": (
        {("cluster", "racks", "r1"): {"parent": "r2"}},
        ["cluster.racks.r1: uplink_gbps is missing"],
    ),
    "root-beside-others-without-uplink": (
        {("cluster", "switches"): {"top": {}}, ("cluster", "racks", "r1", "parent"): "top"},
        ["cluster.switches.top: uplink_gbps is missing"],
    ),
    "no-racks": ({("cluster", "racks"): DELETE}, ["server 'a-0': rack names 'r1', but no racks are defined"]),
    "count-unavailable": (
        {(*SERVER_1, "count"): 1},
        ["cluster.servers[1]: unavailable cannot be combined with count"],
    ),
    "unavailable-range": (
        {(*SERVER_1, "unavailable"): [4]},
        ["cluster.servers[1]: unavailable[0] names GPU 4, but the server has GPUs 0 to 3"],
    ),
    "unavailable-twice": ({(*SERVER_1, "unavailable"): [1, 1]}, ["unavailable[1] names GPU 1 twice"]),
    # contention
    "contention-model": (
        {(*CONTENTION, "model"): "papper"},
        [
            "contention: model must be one of paper, max-min, phases, reserved, not 'papper'",
            "(did you mean 'paper'",
        ],
    ),
    "contention-max-min": (
        {(*CONTENTION, "model"): "max-min"},
        ["contention: share", 'is only allowed with model = "paper"'],
    ),
    "table-share": ({CONTENTION: {"table": [1, 2], "share": 1}}, ["table cannot be combined with share"]),
    "table-degradation": (
        {CONTENTION: {"table": [1, 2], "degradation": 0}},
        ["table cannot be combined with degradation"],
    ),
    "table-short": ({CONTENTION: {"table": [1]}}, ["contention: table must have at least two entries"]),
    "table-empty": ({CONTENTION: {"table": []}}, ["contention: table must have at least two entries"]),
    "table-start": ({CONTENTION: {"table": [2, 3]}}, ["table[0] must be 1, not 2"]),
    "table-decreasing": (
        {CONTENTION: {"table": [1, 3, 2]}},
        ["contention: table[2] must not be below the entry before it, but 2 < 3"],
    ),
    # time
    "time-model": (
        {(*TIME, "model"): "continous"},
        ["time: model must be 'slotted' or 'continuous', not 'continous' (did you mean 'continuous'?)"],
    ),
    "slot-too-short": (
        {(*TIME, "slot_s"): 0.01},
        ["jobs[0] 'first'", "0.0", "a slot of 0.01 s", 'time.model = "continuous"'],
    ),
    # jobs
    "jobs-twice": ({("jobs_file",): "jobs.csv"}, ["jobs_file cannot be combined with jobs"]),
    "unknown-model": (
        {(*KNOWN, "model"): "resnet500"},
        ["jobs[3] 'known': unknown model 'resnet500' (did you mean 'resnet50'?); choose from resnet50"],
    ),
    "no-compute": (
        {(*JOB_0, "forward_ms"): 0, (*JOB_0, "backward_ms"): 0},
        ["jobs[0] 'first': forward_ms must not be 0 together with backward_ms"],
    ),
    # running jobs
    "running-server": (
        {(*RUNNING, "running_on"): {"aa-0": [0, 1]}},
        ["jobs[1] 'running': running_on names the unknown server 'aa-0' (did you mean 'a-0'?)"],
    ),
    "running-gpu-range": (
        {(*RUNNING, "running_on"): {"b": [0, 4]}},
        ["running_on.b: GPU 4 does not exist, the server has GPUs 0 to 3"],
    ),
    "running-gpu-negative": ({(*RUNNING, "running_on"): {"b": [0, -1]}}, ["GPU -1 does not exist"]),
    "running-unavailable": ({(*RUNNING, "running_on"): {"b": [0, 3]}}, ["GPU 3 is unavailable"]),
    "running-twice": ({(*RUNNING, "running_on"): {"b": [1, 1]}}, ["running_on.b: GPU 1 is named twice"]),
    "running-held": (
        {(*JOB_0, "running_on"): {"a-0": [0, 1]}},
        ["jobs[1] 'running': running_on.a-0: GPU 0 is held by job 'first'"],
    ),
    "running-count": (
        {(*RUNNING, "running_on"): {"b": [1]}},
        ["jobs[1] 'running': running_on must name as many GPUs as the job has, 2, not 1"],
    ),
    "running-no-gpu": ({(*RUNNING, "running_on"): {"a-0": [0, 1], "b": []}}, ["running_on.b must name at"]),
    "running-done": (
        {(*RUNNING, "done_iterations"): 100},
        ["jobs[1] 'running': done_iterations must be below iterations = 100, not 100"],
    ),
    "done-without-running": (
        {(*JOB_0, "done_iterations"): 1},
        ["jobs[0] 'first': done_iterations needs running_on"],
    ),
    "running-submit": (
        {(*RUNNING, "submit_s"): 1},
        ["jobs[1] 'running': submit_s must be 0 for a running job"],
    ),
}


@pytest.mark.parametrize(("edits", "expected"), EDITS.values(), ids=EDITS)
def test_edit_is_refused(tmp_path: Path, edits: dict[Any, Any], expected: list[str]) -> None:
    said = refused(tmp_path, write_json(tmp_path, edited(edits)))
    assert "queue.json: " in said
    for part in expected:
        assert part in said


INTEGERS = {  # field: (path, place, least)
    "gpus": ((*JOB_0, "gpus"), "jobs[0] 'first'", 1),
    "iterations": ((*JOB_0, "iterations"), "jobs[0] 'first'", 1),
    "minibatch": ((*JOB_0, "minibatch"), "jobs[0] 'first'", 1),
    "done_iterations": ((*RUNNING, "done_iterations"), "jobs[1] 'running'", 0),
    "server-gpus": ((*SERVER_1, "gpus"), "cluster.servers[1]", 1),
    "count": ((*SERVER_0, "count"), "cluster.servers[0]", 1),
    "unavailable[0]": ((*SERVER_1, "unavailable", 0), "cluster.servers[1]", 0),
    "running_on.b[0]": ((*RUNNING, "running_on", "b", 0), "jobs[1] 'running'", None),
}
NO_INTEGER = [(True, "true"), (2.5, "2.5"), (4.0, "4.0"), ("4", "'4'"), ([4], "a list"), ({}, "a table")]

NUMBERS = {  # field: (path, place, a value just outside, whether 0 is inside)
    "gradient_mb": ((*JOB_0, "gradient_mb"), "jobs[0] 'first'", -1e-9, True),
    "forward_ms": ((*JOB_0, "forward_ms"), "jobs[0] 'first'", -1e-9, True),
    "backward_ms": ((*JOB_0, "backward_ms"), "jobs[0] 'first'", -1e-9, True),
    "submit_s": ((*LATE, "submit_s"), "jobs[2] 'late'", -1e-9, True),
    "weight": ((*LATE, "weight"), "jobs[2] 'late'", 0, False),
    "server_slack": ((*LATE, "server_slack"), "jobs[2] 'late'", 0.99, False),
    "estimate_s": ((*KNOWN, "estimate_s"), "jobs[3] 'known'", 0, False),
    "inter_server_gbps": ((*CLUSTER, "inter_server_gbps"), "cluster", 0, False),
    "intra_server_gbps": ((*CLUSTER, "intra_server_gbps"), "cluster", 0, False),
    "reduce_gbps": ((*CLUSTER, "reduce_gbps"), "cluster", 0, False),
    "uplink_gbps": ((*SERVER_1, "uplink_gbps"), "cluster.servers[1]", 0, False),
    "rack-uplink_gbps": ((*CLUSTER, "racks", "r1", "uplink_gbps"), "cluster.racks.r1", 0, False),
    "share": ((*CONTENTION, "share"), "contention", 0, False),
    "degradation": ((*CONTENTION, "degradation"), "contention", -1e-9, True),
    "server_latency_ms": ((*CONTENTION, "server_latency_ms"), "contention", -1e-9, True),
    "slot_s": ((*TIME, "slot_s"), "time", 0, False),
    "horizon_s": ((*TIME, "horizon_s"), "time", 0, False),
}
NO_NUMBER = [(True, "true"), ("1.0", "'1.0'"), ([1.0], "a list"), ({}, "a table"), (float("nan"), "nan")]
NO_NUMBER += [(float("inf"), "inf"), (float("-inf"), "-inf"), (10**400, "a very large integer")]


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_field(tmp_path: Path, name: str) -> None:
    path, place, least = INTEGERS[name]
    field = name.removeprefix("server-")
    below = [] if least is None else [(least - 1, str(least - 1)), (-(10**400), "a very large integer")]
    for value, shown in NO_INTEGER + below:
        said = refused(tmp_path, write_json(tmp_path, edited({path: value})))
        wanted = "an integer" if least is None else f"an integer >= {least}"
        assert f"queue.json: {place}: {field} must be {wanted}, not {shown}" in said
    said = refused(tmp_path, write_json(tmp_path, edited({path: 10**400})))
    assert f"{place}: {field} must be at most" in said


@pytest.mark.parametrize("name", NUMBERS)
def test_number_field(tmp_path: Path, name: str) -> None:
    path, place, outside, zero_is_inside = NUMBERS[name]
    field = name.removeprefix("rack-")
    for value, shown in [*NO_NUMBER, (outside, f"{outside}"), (-1e308, "-1e+308")]:
        if isinstance(value, list) and field in ("inter_server_gbps", "uplink_gbps"):
            continue  # several links
        if isinstance(value, dict) and field == "intra_server_gbps":
            continue  # a table by GPUs
        said = refused(tmp_path, write_json(tmp_path, edited({path: value})))
        assert f"queue.json: {place}: {field} must be a number " in said
        assert said.endswith(f", not {shown}")
    if zero_is_inside:
        plan_of(write_json(tmp_path, edited({path: 0})))


def test_share_is_at_most_1(tmp_path: Path) -> None:
    said = refused(tmp_path, write_json(tmp_path, edited({(*CONTENTION, "share"): 1.01})))
    assert "contention: share must be a number > 0 and <= 1, not 1.01" in said


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "+nan"])
def test_toml_numbers_that_are_none(tmp_path: Path, value: str) -> None:
    path = tmp_path / "queue.toml"
    path.write_text(f"[time]\nslot_s = {value}\n[cluster]\n{TOML_CLUSTER}")
    assert "queue.toml: time: slot_s must be a number > 0, not" in refused(tmp_path, path)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_json_numbers_that_are_none(tmp_path: Path, value: str) -> None:
    path = tmp_path / "queue.json"
    path.write_text(json.dumps(edited({(*TIME, "slot_s"): "@"})).replace('"@"', value))
    assert "queue.json: time: slot_s must be a number > 0, not" in refused(tmp_path, path)


def test_a_date_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "queue.toml"
    path.write_text(f"[time]\nslot_s = 2024-05-01\n[cluster]\n{TOML_CLUSTER}")
    assert "slot_s must be a number > 0, not the date or time 2024-05-01" in refused(tmp_path, path)


TOML_CLUSTER = "inter_server_gbps=1\nintra_server_gbps=1\nreduce_gbps=1\nservers=[{gpus=1}]\n"

FILES: dict[str, tuple[str, bytes, list[str]]] = {  # case: (file name, bytes, what is said)
    "toml": ("q.toml", b"[cluster\n", ["q.toml: is not valid TOML: ", "line 1"]),
    "toml-twice": ("q.toml", b"a = 1\na = 2\n", ["q.toml: is not valid TOML: ", "line 2"]),
    "toml-deep": ("q.toml", b"a = " + b"[" * 100_000, ["q.toml: is not valid TOML: nested too deeply"]),
    "toml-empty": ("q.toml", b"", ["q.toml: is empty"]),
    "toml-comment": ("q.toml", b"# later\n", ["q.toml: cluster is missing"]),
    "toml-binary": ("q.toml", b"\x00\x01", ["q.toml: is not valid TOML"]),
    "json": ("q.json", b'{"cluster": }', ["q.json: is not valid JSON: ", "line 1 column 13"]),
    "json-empty": ("q.json", b" \n", ["q.json: is empty"]),
    "json-cut": ("q.json", b'{"cluster": {', ["q.json: is not valid JSON: "]),
    "json-twice": ("q.json", b'{"name": "a", "name": "b"}', ["key 'name' is given twice in one object"]),
    "json-list": ("q.json", b"[]", ["q.json: must hold a JSON object, not a list"]),
    "json-number": ("q.json", b"7", ["q.json: must hold a JSON object, not 7"]),
    "json-null": ("q.json", b"null", ["q.json: must hold a JSON object, not null"]),
    "json-deep": ("q.json", b"[" * 100_000, ["q.json: is not valid JSON: nested too deeply"]),
    "json-digits": ("q.json", b'{"name": ' + b"9" * 5000 + b"}", ["q.json: is not valid JSON: "]),
    "latin-1": ("q.toml", 'name = "Köln"'.encode("latin-1"), ["q.toml: is not UTF-8 text (byte 9)"]),
    "utf-16": ("q.json", "{}".encode("utf-16"), ["q.json: is not UTF-8 text (byte 0)"]),
    "no-suffix": ("q", b"{}", ["q: is not valid TOML"]),
}


@pytest.mark.parametrize(("name", "content", "expected"), FILES.values(), ids=FILES)
def test_file_is_refused(tmp_path: Path, name: str, content: bytes, expected: list[str]) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    said = refused(tmp_path, path)
    for part in expected:
        assert part in said


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("missing.toml", "missing.toml: there is no such file"),
        (".", "is a directory, not a file"),
        ("x" * 300, "cannot be read: file name too long"),
    ],
)
def test_scenario_that_cannot_be_read(tmp_path: Path, name: str, expected: str) -> None:
    output = tmp_path / "plan.json"
    assert expected in sentence(run("plan", tmp_path / name, "-o", output))
    assert not output.exists()


ROW = ("a", 1, 10, 1.0, 1, 1.0, 1.0)
HEADER = ",".join(CSV_HEADER)
RUNNING_HEADER = (*CSV_HEADER, "running_on")

CSV_FILES: dict[str, tuple[str, list[str]]] = {
    "empty": ("", ["jobs.csv: is empty"]),
    "unknown-column": (
        csv_text([], [*CSV_HEADER, "gpu"]),
        ["jobs.csv: line 1: unknown key 'gpu'", "did you mean 'gpus'?"],
    ),
    "semicolons": (
        HEADER.replace(",", ";"),
        ["jobs.csv: line 1: has one column; separate the cells by commas"],
    ),
    "no-header": (csv_text([], [str(cell) for cell in ROW]), ["jobs.csv: line 1: unknown key 'a'"]),
    "missing-column": ("name,gpus\na,1\n", ["jobs.csv: line 1: iterations is missing"]),
    "column-twice": (f"{HEADER},gpus\n", ["jobs.csv: line 1: column 'gpus' is given twice"]),
    "short-row": (csv_text([ROW, ROW[:-1]]), ["jobs.csv: line 3: has 6 cells, the header 7"]),
    "long-row": (csv_text([(*ROW, 1)]), ["jobs.csv: line 2: has 8 cells, the header 7"]),
    "empty-cell": (csv_text([ROW, ("b", "", *ROW[2:])]), ["jobs.csv: line 3 'b': gpus is missing"]),
    "no-name": (csv_text([("", *ROW[1:])]), ["jobs.csv: line 2: name is missing"]),
    "text": (csv_text([("b", "two", *ROW[2:])]), ["line 2 'b': gpus must be an integer >= 1, not 'two'"]),
    "float": (csv_text([("b", "4.0", *ROW[2:])]), ["line 2 'b': gpus must be an integer >= 1, not 4.0"]),
    "underscore": (csv_text([("b", "1_0", *ROW[2:])]), ["gpus must be an integer >= 1, not '1_0'"]),
    "nan": (csv_text([(*ROW[:3], "nan", *ROW[4:])]), ["line 2 'a': gradient_mb must be", "not nan"]),
    "inf": (csv_text([(*ROW[:3], "1e999", *ROW[4:])]), ["line 2 'a': gradient_mb must be", "not inf"]),
    "negative": (csv_text([(*ROW[:3], "-1", *ROW[4:])]), ["gradient_mb must be a number >= 0, not -1"]),
    "model": (
        "name,gpus,iterations,model\na,1,10,vgg\n",
        ["jobs.csv: line 2 'a': unknown model 'vgg' (did you mean 'vgg1"],
    ),
    "running-json": (
        csv_text([(*ROW, "{'s0': [0]}")], RUNNING_HEADER),
        ["jobs.csv: line 2 'a': running_on must map server names to lists of GPUs"],
    ),
    "running-key-twice": (
        csv_text([(*ROW, '{"s0": [0], "s0": [1]}')], RUNNING_HEADER),
        ["jobs.csv: line 2 'a': running_on must map server names to lists of GPUs"],
    ),
    "quote": (f'{HEADER}\n"a,1\n', ["jobs.csv: line 2: is not valid CSV: "]),
    "duplicate": (csv_text([ROW, ROW]), ["jobs.csv: line 3: name duplicates the job name 'a'"]),
    "larger than the cluster": (csv_text([ROW, ("b", 99, *ROW[2:])]), ["jobs.csv: line 3 'b': gpus = 99"]),
}


@pytest.mark.parametrize(("content", "expected"), CSV_FILES.values(), ids=CSV_FILES)
def test_jobs_file_is_refused(tmp_path: Path, content: str, expected: list[str]) -> None:
    (tmp_path / "jobs.csv").write_text(content, newline="")
    said = refused(tmp_path, write_json(tmp_path, edited({("jobs",): DELETE, ("jobs_file",): "jobs.csv"})))
    for part in expected:
        assert part in said


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("missing.csv", "missing.csv: there is no such file"),
        (".", "is a directory, not a file"),
        ("latin.csv", "latin.csv: is not UTF-8 text"),
        ("a\0b", "jobs_file must be printable and not blank"),
        ("\ud800", "jobs_file must be printable and not blank"),
        ("x" * 300, "cannot be read: file name too long"),
    ],
)
def test_jobs_file_that_cannot_be_read(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / "latin.csv").write_bytes("name\nKöln".encode("latin-1"))
    scenario = write_json(tmp_path, edited({("jobs",): DELETE, ("jobs_file",): name}))
    assert expected in refused(tmp_path, scenario).replace(str(tmp_path), "")


OPTIONS: dict[str, tuple[list[str], list[str]]] = {
    "policy": (["--policy", "sjfbco"], ["unknown policy 'sjfbco' (did you mean 'sjf-bco'?)", "first-fit"]),
    "policy-empty": (["--policy", ""], ["unknown policy ''", "choose from search, sjf-bco, first-fit"]),
    "order": (["--order", "fiffo"], ["unknown order 'fiffo' (did you mean 'fifo'?)", "shortest-first"]),
    "kappa-0": (["--policy", "sjf-bco", "--kappa", "0"], ["--kappa must be an integer >= 1, not 0"]),
    "kappa-text": (["--policy", "sjf-bco", "--kappa", "x"], ["Error: ", "--kappa", "'x'"]),
    "kappa-unused": (["--policy", "first-fit", "--kappa", "2"], ["--kappa is not allowed", "'first-fit'"]),
    "theta-unused": (["--policy", "longest-first", "--theta", "2"], ["--theta is not allowed"]),
    "objective": (["--objective", "mean"], ["--objective must be one of makespan,", "not 'mean'"]),
    "theta-0": (["--policy", "first-fit", "--theta", "0"], ["--theta must be an integer >= 1, not 0"]),
    "slack": (
        ["--policy", "sjf-bco", "--server-slack", "0.5"],
        ["--server-slack must be a number >= 1, not 0.5"],
    ),
    "slack-nan": (
        ["--policy", "sjf-bco", "--server-slack", "nan"],
        ["--server-slack must be a number >= 1, not nan"],
    ),
    "slack-unused": (
        ["--policy", "random", "--server-slack", "2"],
        ["--server-slack is not allowed with policy 'random'"],
    ),
    "seed": (["--seed", "-1"], ["--seed must be an integer >= 0, not -1"]),
    "seed-large": (["--seed", "9" * 40], ["--seed must be at most"]),
    "option": (["--polcy", "random"], ["Error: ", "--polcy", "--policy"]),
    "argument": (["second.toml"], ["Error: ", "second.toml"]),
}


@pytest.mark.parametrize(("options", "expected"), OPTIONS.values(), ids=OPTIONS)
def test_option_is_refused(tmp_path: Path, options: list[str], expected: list[str]) -> None:
    said = refused(tmp_path, write_json(tmp_path, FULL), *options)
    for part in expected:
        assert part in said


def test_output_into_a_missing_folder(tmp_path: Path) -> None:
    said = sentence(run("plan", write_json(tmp_path, FULL), "-o", tmp_path / "no" / "plan.json"))
    assert f"plan.json: cannot be written: there is no directory '{tmp_path / 'no'}'" in said


def test_output_below_a_file(tmp_path: Path) -> None:
    scenario = write_json(tmp_path, FULL)
    assert "cannot be written: there is no directory" in sentence(run("plan", scenario, "-o", scenario / "x"))


def test_output_onto_a_folder(tmp_path: Path) -> None:
    assert "is a directory, not a file" in sentence(run("plan", write_json(tmp_path, FULL), "-o", tmp_path))


@pytest.mark.parametrize("through", ["itself", "symlink", "hardlink"])
def test_output_onto_the_scenario(tmp_path: Path, through: str) -> None:
    scenario = write_json(tmp_path, FULL)
    before, output = scenario.read_bytes(), tmp_path / "plan.json"
    if through == "itself":
        output = scenario
    elif through == "symlink":
        output.symlink_to(scenario)
    else:
        output.hardlink_to(scenario)
    assert "is the scenario itself; write to another file" in sentence(run("plan", scenario, "-o", output))
    assert scenario.read_bytes() == before


def test_output_with_a_name_that_is_too_long(tmp_path: Path) -> None:
    said = sentence(run("plan", write_json(tmp_path, FULL), "-o", tmp_path / ("x" * 300)))
    assert "cannot be written: file name too long" in said


def test_output_through_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    output = tmp_path / "plan.json"
    output.symlink_to(tmp_path / "no" / "plan.json")
    said = sentence(run("plan", write_json(tmp_path, FULL), "-o", output))
    assert "plan.json: cannot be written: there is no directory" in said


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_output_without_permission(tmp_path: Path) -> None:
    scenario, folder = write_json(tmp_path, FULL), tmp_path / "locked"
    folder.mkdir(mode=0o500)
    assert "permission denied" in sentence(run("plan", scenario, "-o", folder / "plan.json"))


PLAN_JOB_0, PLAN_GPUS = ("jobs", 0), ("jobs", 0, "gpus")

PLAN_FORMS: dict[str, tuple[dict[Any, Any], list[str]]] = {
    "format": ({("format",): "ringsched-plan/2"}, ["plan.json: format must be", "not 'ringsched-plan/2'"]),
    "no-format": ({("format",): DELETE}, ["plan.json: format is missing: not a plan"]),
    "key": ({("makespan",): 1}, ["plan.json: unknown key 'makespan' (did you mean 'makespan_s'?)"]),
    "no-gap": ({("gap",): DELETE}, ["plan.json: gap is missing"]),
    "no-jobs": ({("jobs",): DELETE}, ["plan.json: jobs is missing"]),
    "jobs-type": ({("jobs",): {}}, ["plan.json: jobs must be an array, not a table"]),
    "job-type": ({PLAN_JOB_0: 3}, ["plan.json: jobs[0] must be a table, not 3"]),
    "job-key": ({(*PLAN_JOB_0, "start"): 3}, ["jobs[0]: unknown key 'start' (did you mean 'start_s'?)"]),
    "job-no-ring": ({(*PLAN_JOB_0, "ring"): DELETE}, ["jobs[0]: ring is missing"]),
    "start-type": ({(*PLAN_JOB_0, "start_s"): "0"}, ["jobs[0]: start_s must be a number, not '0'"]),
    "start-nan": ({(*PLAN_JOB_0, "start_s"): float("nan")}, ["jobs[0]: start_s must be a number, not nan"]),
    "gpus-type": ({PLAN_GPUS: [0]}, ["jobs[0]: gpus: must map server names to lists of GPUs, not a list"]),
    "gpu-type": ({PLAN_GPUS: {"a-0": [0.5]}}, ["jobs[0]: gpus: a-0[0] must be an integer, not 0.5"]),
    "ring-type": ({(*PLAN_JOB_0, "ring"): 3}, ["jobs[0]: ring must be a list of [server, GPU], not 3"]),
    "ring-worker": ({(*PLAN_JOB_0, "ring", 0): ["a-0"]}, ["jobs[0]: ring[0] must be [server, GPU]"]),
    "ring-gpu": ({(*PLAN_JOB_0, "ring", 0): ["a-0", "0"]}, ["jobs[0]: ring[0] must be an integer, not '0'"]),
    "params-type": ({("params",): []}, ["plan.json: params must be a table, not a list"]),
    "params-value": ({("params",): {"theta": [1]}}, ["params.theta must be a number, not a list"]),
    "seed": ({("seed",): True}, ["plan.json: seed must be an integer >= 0, not true"]),
    "slack": ({("slack",): 0.5}, ["plan.json: slack must be a number >= 1, not 0.5"]),
    "objective": (
        {("objective",): "cost"},
        [
            "plan.json: objective must be one of makespan, mean-completion, weighted-completion,",
            "max-slowdown, not 'cost'",
        ],
    ),
    "weighted": (
        {("objective",): "weighted-completion", ("weighted_completion_s",): DELETE},
        ["weighted_completion_s is missing, but is the objective"],
    ),
    "weighted-type": ({("weighted_completion_s",): "1"}, ["weighted_completion_s must be a number, not '1'"]),
    "makespan-inf": ({("makespan_s",): float("inf")}, ["plan.json: makespan_s must be a number, not inf"]),
    "bounds-type": ({("bounds",): {}}, ["plan.json: bounds must be an array, not a table"]),
    "bound-value": ({("bounds", 0, "value_s"): "x"}, ["bounds[0]: value_s must be a number, not 'x'"]),
    "bound-name": ({("bounds", 0, "name"): 3}, ["bounds[0]: name must be a string, not 3"]),
}

PLAN_MEANINGS: dict[str, tuple[dict[Any, Any], str]] = {
    "digest": ({("scenario_sha256",): "0" * 64}, "scenario-digest"),
    "makespan": ({("makespan_s",): 1}, "makespan"),
    "gap": ({("gap",): 0.5}, "gap"),
    "no-jobs": ({("jobs",): []}, "job-missing"),
    "job-name": ({(*PLAN_JOB_0, "name"): "other"}, "job-unknown"),
    "start": ({(*PLAN_JOB_0, "start_s"): -1}, "start-before-submit"),
    "grid": ({(*PLAN_JOB_0, "start_s"): 0.5}, "start-grid"),
    "finish": ({(*PLAN_JOB_0, "finish_s"): 10**6}, "finish"),
    "server": ({PLAN_GPUS: {"nowhere": [0, 1]}}, "server-unknown"),
    "gpu": ({PLAN_GPUS: {"a-0": [0, 99]}}, "gpu-unknown"),
    "gang": ({PLAN_GPUS: {}}, "gang-size"),
    "ring": ({(*PLAN_JOB_0, "ring"): []}, "ring-gpus"),
}


@pytest.fixture
def planned(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """The full scenario and its plan."""
    scenario = write_json(tmp_path, FULL)
    return scenario, plan_of(scenario)


@pytest.mark.parametrize(("edits", "expected"), PLAN_FORMS.values(), ids=PLAN_FORMS)
def test_plan_of_the_wrong_form(
    tmp_path: Path, planned: tuple[Path, dict[str, Any]], edits: dict[Any, Any], expected: list[str]
) -> None:
    plan_file = write_json(tmp_path, edited(edits, planned[1]), "plan.json")
    said = sentence(run("verify", planned[0], plan_file))
    assert "plan.json: " in said
    for part in expected:
        assert part in said


@pytest.mark.parametrize(("edits", "constraint"), PLAN_MEANINGS.values(), ids=PLAN_MEANINGS)
def test_plan_that_is_wrong_in_meaning(
    tmp_path: Path, planned: tuple[Path, dict[str, Any]], edits: dict[Any, Any], constraint: str
) -> None:
    plan_file = write_json(tmp_path, edited(edits, planned[1]), "plan.json")
    result = run("verify", planned[0], plan_file)
    assert result.exit_code == 1
    assert result.stderr == ""
    assert result.stdout.startswith(f"invalid: {plan_file}, ")
    assert constraint in result.stdout


@pytest.mark.parametrize(("name", "content", "expected"), FILES.values(), ids=FILES)
def test_plan_file_that_is_no_json(
    tmp_path: Path, planned: tuple[Path, dict[str, Any]], name: str, content: bytes, expected: list[str]
) -> None:
    plan_file = tmp_path / name
    plan_file.write_bytes(content)
    assert f"{name}: " in sentence(run("verify", planned[0], plan_file))


def test_plan_file_that_is_not_there(tmp_path: Path, planned: tuple[Path, dict[str, Any]]) -> None:
    said = sentence(run("verify", planned[0], tmp_path / "none.json"))
    assert "none.json: there is no such file" in said


def test_verify_refuses_what_plan_refuses(tmp_path: Path, planned: tuple[Path, dict[str, Any]]) -> None:
    plan_file = write_json(tmp_path, planned[1], "plan.json")
    scenario = write_json(tmp_path, edited({(*TIME, "slot_s"): 0.01}), "short.json")
    said = sentence(run("verify", scenario, plan_file))
    assert "short.json: jobs[0] 'first'" in said
    assert 'time.model = "continuous"' in said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["plan", "missing.toml"], "Error: missing.toml: there is no such file"),
        (["plan", "bad.json"], "Error: bad.json: unknown key 'clusters' (did you mean 'cluster'?)"),
        (["plan", "queue.json", "--policy", "best"], "Error: unknown policy 'best'"),
        (["plan", "queue.json", "-o", "plan.json", "--kappa", "0"], "Error: --kappa must be"),
        (["verify", "queue.json", "bad.json"], "Error: bad.json: format is missing"),
        (["plan"], "Error: plan: SCENARIO is missing"),
        (["plam", "queue.json"], "Error: no such command 'plam' (did you mean 'plan'?)"),
    ],
)
def test_as_a_process(tmp_path: Path, arguments: list[str], expected: str) -> None:
    write_json(tmp_path, FULL)
    write_json(tmp_path, {"clusters": {}}, "bad.json")
    (tmp_path / "plan.json").write_bytes(OLD_BYTES)
    assert sentence(run_process(*arguments, cwd=tmp_path)).startswith(expected)
    assert (tmp_path / "plan.json").read_bytes() == OLD_BYTES
    assert len(list(tmp_path.iterdir())) == 3
