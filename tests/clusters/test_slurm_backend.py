"""The controller on a Slurm in memory: what a real one cannot be made to show."""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.slurm_double import SlurmDouble

from ringsched.cli.slurm import slurm_command
from ringsched.clusters.controller import Controller, run
from ringsched.clusters.network import Network
from ringsched.clusters.planning import Planner
from ringsched.clusters.slurm.backend import SlurmBackend
from ringsched.clusters.slurm.commands import DryRun, SlurmCommands
from ringsched.clusters.slurm.comments import Note, parse_comment, parse_note
from ringsched.errors import AdapterError, InputError

pytestmark = pytest.mark.compiled


def sleeping(gpus: int, seconds: int = 10) -> dict[str, object]:
    return {
        "gpus": gpus, "iterations": seconds, "gradient_mb": 0, "minibatch": 1, "forward_ms": 0,
        "backward_ms": 1000,
    }  # fmt: skip


def controller_of(slurm: SlurmDouble, commands: Any = None, **more: Any) -> Controller:
    backend = SlurmBackend(
        commands=commands or slurm, clock=slurm.clock, network=Network(), partitions=("gpu",)
    )
    return Controller(backend=backend, **({"planner": Planner(policy="longest-first")} | more))


def run_all(slurm: SlurmDouble, controller: Controller) -> None:
    run(controller, interval_s=1, wait=slurm.pass_time, until_idle=True)


def states(slurm: SlurmDouble) -> dict[int, str]:
    return {job_id: job["job_state"] for job_id, job in slurm.jobs.items()}


def note(slurm: SlurmDouble, job_id: int) -> Any:
    return parse_note(slurm.jobs[job_id]["comment"])


def test_a_queue_runs_to_its_end_with_the_ids_it_had() -> None:
    slurm = SlurmDouble({"a": 4, "b": 4})
    for gpus in (4, 4, 3, 8):
        slurm.add(sleeping(gpus), tasks=gpus)
    run_all(slurm, controller_of(slurm))
    assert states(slurm) == dict.fromkeys(range(1, 5), "COMPLETED")
    assert {words[0] for words in slurm.told} == {"scontrol"}


def test_an_array_runs_task_by_task() -> None:
    slurm = SlurmDouble({"a": 4})
    slurm.add(sleeping(4), tasks=4, array_job_id=1, array_task_string="0-2")
    run_all(slurm, controller_of(slurm))
    tasks = {job["array_task_id"]: job["job_state"] for job in slurm.jobs.values()}
    assert tasks == {0: "COMPLETED", 1: "COMPLETED", 2: "COMPLETED"}


def test_a_released_job_whose_node_is_lost_is_taken_back_and_placed_elsewhere() -> None:
    slurm = SlurmDouble({"a": 4, "b": 4})
    job_id = slurm.add(sleeping(4), tasks=4)
    controller = controller_of(slurm)
    controller.cycle()
    slurm.states["a"] = ("down", ["NOT_RESPONDING"])
    controller.cycle()  # takes it back
    controller.cycle()
    slurm.pass_time(1)
    assert slurm.jobs[job_id]["nodes"] == "b"


@pytest.mark.parametrize("reason", ["Licenses", "QOSMaxGRESPerUser", "AssocGrpGRES", "ReqNodeNotAvail"])
def test_a_refused_job_is_set_aside_for_longer_and_longer_and_blocks_no_other(reason: str) -> None:
    slurm = SlurmDouble({"a": 4})
    refused = slurm.add(sleeping(4), tasks=4)
    controller = controller_of(slurm)
    delays = []
    for _ in range(4):
        controller.cycle()
        slurm.jobs[refused]["state_reason"] = reason
        slurm.now_s += 6
        controller.cycle()
        assert note(slurm, refused).refused == f"Slurm does not start it ({reason})"
        assert slurm.jobs[refused]["priority"] == 0
        delays.append(note(slurm, refused).refused_until_s - int(slurm.now_s))
        slurm.now_s += delays[-1]
    assert delays == [10, 20, 40, 80]
    slurm.now_s -= 1
    other = slurm.add(sleeping(4), tasks=4)
    controller.cycle()
    assert slurm.jobs[other]["priority"] == 1
    assert slurm.jobs[refused]["priority"] == 0


def test_a_job_that_slurm_does_not_start_without_a_reason_has_a_minute() -> None:
    slurm = SlurmDouble({"a": 4})
    job_id = slurm.add(sleeping(4), tasks=4)
    controller = controller_of(slurm)
    controller.cycle()
    slurm.now_s += 61  # it does not start, though nothing is in its way
    slurm.jobs[job_id]["state_reason"] = "Resources"
    controller.cycle()
    assert note(slurm, job_id).refused == "did not start within 60 s (Resources)"
    told = len(slurm.told)
    controller.cycle()
    assert len(slurm.told) == told
    slurm.now_s += 60
    assert controller.cycle().started == {"job-1"}


def test_bad_constraints_are_held_before_they_are_changed() -> None:
    """Slurm starts such a job at the next update that fits, so it must be held first."""
    slurm = SlurmDouble({"a": 4})
    job_id = slurm.add(sleeping(4), tasks=4)
    controller = controller_of(slurm)
    controller.cycle()
    slurm.jobs[job_id] |= {"priority": 0, "state_reason": "BadConstraints"}
    controller.cycle()
    assert note(slurm, job_id).refused == "Slurm refuses its nodes (BadConstraints)"
    assert slurm.jobs[job_id]["state_reason"] == "JobHeldUser"
    own = slurm.add(sleeping(2), tasks=2, state_reason="BadConstraints")  # its owner released it
    slurm.told.clear()
    controller.cycle()
    assert slurm.told[0] == ("scontrol", "uhold", str(own))


def test_a_job_that_was_placed_and_taken_back_can_get_another_layout() -> None:
    """What it asked for is in the note, since Slurm only has what was written into it."""
    slurm = SlurmDouble({"a": 8, "b": 4, "c": 4})
    job_id = slurm.add(sleeping(8), tasks=1, tres_per_task="", tres_per_job="gres:gpu:8")
    controller = controller_of(slurm)
    controller.cycle()
    assert slurm.jobs[job_id]["shape"] == [("a", 8)]
    slurm.states["a"] = ("idle", ["DRAIN"])
    controller.cycle()
    controller.cycle()
    slurm.pass_time(1)
    assert slurm.jobs[job_id]["shape"] == [("b", 4), ("c", 4)]
    assert slurm.jobs[job_id]["job_state"] == "RUNNING"


def test_a_job_with_its_own_nodes_is_planned_on_exactly_as_many() -> None:
    """One free node has all the GPUs that it needs, but it asks for four on each of two nodes."""
    slurm = SlurmDouble({"a": 8, "b": 8})
    whole = {"tres_per_task": "", "tres_per_node": "gres:gpu:8", "node_count": 1, "max_nodes": 1}
    halves = {"tres_per_task": "", "tres_per_node": "gres:gpu:4", "node_count": 2, "max_nodes": 2}
    slurm.add(sleeping(8), tasks=1, **whole)
    wide = slurm.add(sleeping(8), tasks=2, **halves)
    controller = controller_of(slurm)
    planned = controller.cycle().planned
    assert planned is not None
    entry = planned.entries[f"job-{wide}"]
    assert {name: len(held) for name, held in entry.gpus.items()} == {"a": 4, "b": 4}
    assert entry.start_s == planned.entries["job-1"].finish_s
    run_all(slurm, controller)
    assert slurm.jobs[wide]["shape"] == [("a", 4), ("b", 4)]
    assert states(slurm) == {1: "COMPLETED", 2: "COMPLETED"}


def test_nodes_that_an_owner_requires_later_count() -> None:
    slurm = SlurmDouble({"a": 4, "b": 4})
    job_id = slurm.add(sleeping(4), tasks=4)
    controller = controller_of(slurm)
    controller.cycle()
    slurm.jobs[job_id] |= {"priority": 0, "state_reason": "JobHeldUser", "required_nodes": "b"}
    controller.cycle()
    slurm.pass_time(1)
    assert slurm.jobs[job_id]["nodes"] == "b"


def test_a_time_limit_shorter_than_the_prediction_counts() -> None:
    slurm = SlurmDouble({"a": 4})
    slurm.add(sleeping(4, 200), tasks=4, time_limit=1)
    slurm.add(sleeping(4, 200), tasks=4)
    planned = controller_of(slurm).cycle().planned
    assert planned is not None
    finishes = {name: entry.finish_s for name, entry in planned.entries.items()}
    assert finishes == pytest.approx({"job-1": 60.0, "job-2": 260.0}, abs=0.1)


def test_what_others_write_in_the_comment_is_kept() -> None:
    slurm = SlurmDouble({"a": 4})
    job_id = slurm.add(json.dumps({"ringsched": sleeping(4), "wandb": "run-7"}), tasks=4)
    controller_of(slurm).cycle()
    kept = json.loads(slurm.jobs[job_id]["comment"])
    assert kept["wandb"] == "run-7"
    assert kept["ringsched"] == sleeping(4)
    assert kept["ringsched_note"]["servers"] == {"a": 4}


@pytest.mark.parametrize(
    "forged",
    [
        {"servers": {"a": 10**30}, "released_s": -5, "refusals": 10**30, "refused_until_s": True},
        {"servers": {"b": 4}, "before": {"gpus": "many", "way": "x"}},
        {"servers": [], "before": {"each": 0}, "refused": {"a": 1}},
        {"servers": {"a": 1}, "released_s": 1, "before": {"required": ["elsewhere"], "gpus": 1}},
        7,
    ],
)
def test_a_note_that_its_owner_forged_concerns_no_other_job(forged: object) -> None:
    slurm = SlurmDouble({"a": 4})
    slurm.add(json.dumps({"ringsched": sleeping(4), "ringsched_note": forged}), tasks=4)
    other = slurm.add(sleeping(4), tasks=4)
    run_all(slurm, controller_of(slurm))
    assert states(slurm)[other] == "COMPLETED"
    assert states(slurm)[1] in ("COMPLETED", "PENDING")


def test_one_bad_job_does_not_keep_others_from_running() -> None:
    slurm = SlurmDouble({"a": 4})
    slurm.add(sleeping(1) | {"gpus": True}, tasks=1)
    slurm.add("ringsched: please run this", tasks=1)
    slurm.add(sleeping(9), tasks=9)
    slurm.add(sleeping(2) | {"gradient_mb": 1e300, "iterations": 2**53}, tasks=2)  # it would take for ever
    slurm.add(sleeping(1), tasks=2)
    slurm.add(sleeping(1), tasks=1)
    controller = controller_of(slurm)
    run_all(slurm, controller)
    assert [job_id for job_id, state in states(slurm).items() if state == "COMPLETED"] == [6]
    left = controller.cycle().snapshot.left
    assert left["job-1"] == "comment: gpus must be an integer >= 1, not true"
    assert "is not valid JSON" in left["job-2"]
    assert left["job-3"] == "needs 9 GPUs in equal parts, which the 1 nodes of partition gpu do not have"
    assert "will be tried again later" in left["job-4"]
    assert left["job-5"] == "asks for 2 GPUs, but its comment has 1"


def test_a_bad_job_that_its_owner_released_does_not_end_the_controller() -> None:
    slurm = SlurmDouble({"a": 4})
    absurd = sleeping(2) | {"gradient_mb": 1e300, "iterations": 2**53, "estimate_s": 1e300}
    slurm.add(absurd, tasks=2, priority=1, shape=[("a", 2)], length_s=30)
    slurm.add(absurd, tasks=2)
    slurm.add(sleeping(1), tasks=1)
    slurm.pass_time(1)
    run_all(slurm, controller_of(slurm))
    assert states(slurm)[3] == "COMPLETED"
    assert states(slurm)[2] == "PENDING"


def test_silence_ends_a_cycle_and_the_next_looks_again() -> None:
    """After a timeout nobody knows whether a job was released: nothing more is done before looking."""

    class Silent(SlurmDouble):
        silent = True

        def tell(self, *words: str, **more: Any) -> str:
            said = super().tell(*words, **more)
            if words[1] == "release" and self.silent:
                self.silent = False
                raise AdapterError("scontrol release 1 did not respond within 30 s")
            return said

    slurm = Silent({"a": 4})
    for _ in range(2):
        slurm.add(sleeping(2), tasks=2)
    said: list[str] = []
    run_all(slurm, controller_of(slurm, say=said.append))
    assert states(slurm) == {1: "COMPLETED", 2: "COMPLETED"}
    assert "Slurm: scontrol release 1 did not respond within 30 s; retrying in 1 s" in said
    assert [words for words in slurm.told if words[1] == "release"] == [
        ("scontrol", "release", "1"), ("scontrol", "release", "2")
    ]  # fmt: skip


@pytest.mark.parametrize("step", range(1, 5))
def test_a_job_that_is_cancelled_between_any_two_commands_stays_cancelled(step: int) -> None:
    class Cancelled(SlurmDouble):
        def tell(self, *words: str, **more: Any) -> str:
            if len(self.told) == step - 1:
                super().tell("scancel", "1")
            return super().tell(*words, **more)

    slurm = Cancelled({"a": 4})
    slurm.add(sleeping(4), tasks=4)
    slurm.add(sleeping(4), tasks=4)
    run_all(slurm, controller_of(slurm))
    assert states(slurm) == {1: "CANCELLED", 2: "COMPLETED"}
    assert slurm.started == [2]


def test_a_dry_run_changes_nothing() -> None:
    slurm = SlurmDouble({"a": 4, "b": 4})
    slurm.add(sleeping(8), tasks=8)
    lines: list[str] = []
    before = json.dumps(slurm.jobs)
    controller_of(slurm, DryRun(real=slurm, show=lines.append)).cycle()
    assert json.dumps(slurm.jobs) == before
    assert lines[1].endswith("NumNodes=2-2 ReqNodeList=a,b TasksPerNode=4 NumTasks=8")
    assert lines[2:] == ["scontrol update jobid=1 NumCPUs=8", "scontrol release 1"]


def test_no_command_names_another_users_job() -> None:
    """Comments and notes may name any job; commands name only the job they stand in."""
    slurm = SlurmDouble({"a": 4})
    slurm.add("", tasks=1, user_id=9)
    note = Note(servers={"a": 4}, released_s=1)
    for fields in ({"origin": 1}, {"saved": "x"}, {"job_id": 1}, {}):
        slurm.add(sleeping(1) | fields, tasks=1, name="jobid=1", note=note)
    run_all(slurm, controller_of(slurm))
    assert {words[2].removeprefix("jobid=") for words in slurm.told} == {"5"}


def test_a_command_that_hangs_or_fails() -> None:
    runs = SlurmCommands(timeout_s=0.2)
    for command, refused in (
        (["sleep", "5"], False),
        (["sh", "-c", "echo Unable to contact slurm controller >&2; exit 1"], False),
        (["sh", "-c", "echo Access denied >&2; exit 1"], True),
    ):
        with pytest.raises(AdapterError) as caught:
            runs.ask(*command)
        assert caught.value.refused is refused


def test_a_command_whose_time_is_over_is_not_run(tmp_path: Path) -> None:
    """A controller that is paused just before it starts a command finds its lease lost in the new process."""
    here, file = os.getpid(), tmp_path / "file"
    commands = SlurmCommands(left_s=lambda: 1.0 if os.getpid() == here else 0.0)
    with pytest.raises(AdapterError, match="was not run: it is too late") as caught:
        commands.tell("touch", str(file))
    assert not caught.value.refused
    assert not file.exists()
    commands.ask("touch", str(file))  # reading is always allowed
    assert file.exists()


@pytest.mark.parametrize("option", ["--command-timeout", "--poll-interval", "--start-timeout"])
@pytest.mark.parametrize("value", ["inf", "1e300", "nan", "0"])
def test_times_that_nobody_can_wait_for(option: str, value: str) -> None:
    result = CliRunner().invoke(slurm_command, ["run", option, value])
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith(f"{option} must be > 0 and at most 86400, not ")


@pytest.mark.slow
def test_memory_is_flat_over_ten_thousand_cycles() -> None:
    """Jobs come and go all the time; only what Slurm remembers is there."""
    slurm = SlurmDouble({"a": 4, "b": 4})
    controller = controller_of(slurm)
    blocks = {}
    for at in range(10_001):
        if at % 25 == 0:
            gpus = (3, 8, 2)[at // 25 % 3]
            slurm.add(sleeping(gpus), tasks=gpus)
        controller.cycle()
        slurm.pass_time(1)
        slurm.told.clear()
        slurm.started.clear()
        if at in (2000, 10_000):
            parse_comment.cache_clear()  # they are bounded, but fill for a while
            gc.collect()
            blocks[at] = sys.getallocatedblocks()
    assert slurm._last > 400
    assert blocks[10_000] - blocks[2000] < 1000  # an eighth of one a cycle
