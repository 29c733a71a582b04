"""Errors that once named the wrong thing, printed a traceback, or dropped what the user had written."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.helpers import FULL, run, sentence, write_json

import ringsched
from ringsched.analysis.whatif.changes import LinkSpeed
from ringsched.policies.policy import Stop

FIRST = "examples/first.toml"


def test_another_speed_of_servers_says_that_racks_keep_theirs(tmp_path: Path) -> None:
    racks = ringsched.load_scenario(write_json(tmp_path, FULL))
    change = LinkSpeed(inter_server_gbps=100)
    assert change.label(racks) == "server uplinks 100 Gbit/s, not 10; rack uplinks unchanged"
    assert change.label(ringsched.load_scenario(FIRST)) == "server uplinks 100 Gbit/s, not 100"


def test_a_field_is_named_as_the_file_names_it() -> None:
    said = sentence(run("whatif", FIRST, "--set", "inter_server_gbps=100Gbit"))
    assert said.endswith(": inter_server_gbps must be a number > 0, not '100Gbit'")


@pytest.mark.parametrize("key", ["servers", "cluster.servers"])
def test_a_number_of_servers_is_refused_with_the_way_to_get_more(key: str) -> None:
    said = sentence(run("whatif", FIRST, "--set", f"{key}=20"))
    assert "servers must be a list, not 20; for more servers use `ringsched whatif --add-servers N`" in said


def test_a_change_that_is_none() -> None:
    scenario = ringsched.load_scenario(FIRST)
    for given in ("add", LinkSpeed):
        with pytest.raises(ringsched.InputError, match=r"changes\[0\] must be a change such as AddServers"):
            ringsched.whatif(scenario, given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("FF", "first-fit"),
        ("ls", "list-scheduling"),
        ("RAND", "random"),
        ("Sjf-Bco", "sjf-bco"),
        ("LWF", "lwf"),
    ],
)
def test_the_names_of_the_paper_are_suggested(written: str, meant: str) -> None:
    assert f"unknown policy {written!r} (did you mean {meant!r}?)" in sentence(
        run("plan", FIRST, "--policy", written)
    )


def test_a_policy_that_only_plans_is_not_called_unknown() -> None:
    for name in ("search", "random", "exact", "adaptive-overlap"):
        said = sentence(run("simulate", FIRST, "--policy", name))
        assert f"policy {name!r} plans a queue that is known in advance, and cannot be simulated" in said
        assert "use 'rolling'" in said
    with pytest.raises(ringsched.InputError, match="cannot be simulated"):
        ringsched.simulate(ringsched.load_scenario(FIRST), "search")
    assert "use 'search' here" in sentence(run("plan", FIRST, "--policy", "rolling"))


FAILING = """
class Failing:
    name = "failing"

    def place(self, job, cluster):
        return self.share(job)

    def share(self, job):
        return 1 / (job.gpus - job.gpus)


class Unsorted(Failing):
    def order(self, job):
        raise KeyError(job.name)
"""


def test_a_policy_that_raises_is_one_sentence_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "failing.py"
    file.write_text(FAILING, encoding="utf-8")
    said = sentence(run("plan", FIRST, "--policy", f"{file}:Failing"))
    where = "Error: policy 'failing', job 'bert-pretrain': failing.py, line"
    assert said == f"{where} 9: ZeroDivisionError: division by zero"
    said = sentence(run("compare", FIRST, "--policies", f"{file}:Unsorted", "--workers", "1"))
    assert (
        said == "Error: policy 'failing', job 'bert-pretrain': failing.py, line 14: KeyError: 'bert-pretrain'"
    )
    said = sentence(run("simulate", FIRST, "--policy", f"{file}:Failing"))
    assert said == "Error: policy 'failing': failing.py, line 9: ZeroDivisionError: division by zero"


def test_the_cause_of_a_policy_that_raises_is_kept() -> None:
    class Failing:
        def place(self, job: object, cluster: object) -> None:
            raise LookupError("no idea")

    with pytest.raises(ringsched.PolicyError, match="LookupError: no idea") as error:
        ringsched.plan(ringsched.load_scenario(FIRST), Failing())
    assert isinstance(error.value.__cause__, LookupError)


def test_a_policy_file_without_a_name_or_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FAILING, encoding="utf-8")
    for written in (f"{file}", f"{file}:"):
        assert sentence(run("plan", FIRST, "--policy", written)).endswith(
            f"mine.py: name the policy in it: {file}:NAME"
        )


def test_policies_may_be_given_in_several_options() -> None:
    shown = run(
        "compare", FIRST, "--policies", "lwf", "--policies", "fifo,first-fit", "--metrics", "gap"
    ).stdout
    assert [line.split()[0] for line in shown.splitlines()[2:5]] == ["lwf", "fifo", "first-fit"]


def test_a_space_after_a_comma_is_explained() -> None:
    said = sentence(run("compare", FIRST, "--policies", "lwf,", "fifo"))
    assert said == (
        "Error: fifo: there is no such file; separate policies by commas without spaces: --policies a,b"
    )


@pytest.mark.parametrize(
    ("objective", "compared"),
    [
        ("makespan", "makespan"),
        ("mean-completion", "mean completion"),
        ("weighted-completion", "gap"),
        ("max-slowdown", "largest slowdown"),
    ],
)
def test_pairs_are_those_of_the_objective(objective: str, compared: str) -> None:
    shown = run("compare", FIRST, "--policies", "lwf,fifo", "--objective", objective).stdout
    assert [line for line in shown.splitlines() if "in pairs" in line] == [
        f"{compared} against lwf, in pairs; below 1 is better"
    ]


def test_metrics_have_short_names() -> None:
    options = ("--policies", "lwf,fifo", "--metrics", "mean-completion", "--pairs", "makespan,planning")
    shown = run("compare", FIRST, *options).stdout
    assert [line.partition(" against")[0] for line in shown.splitlines() if "in pairs" in line] == [
        "makespan",
        "planning time",
    ]


def test_a_queue_that_is_too_large_for_exact_is_not_infeasible() -> None:
    options = ("--policies", "lwf,exact")
    assert "too large, in no mean and no pair: exact 1 of 1" in run("compare", FIRST, *options).stdout
    result = ringsched.compare([FIRST], ["lwf", "exact"])
    assert [row.status for row in result.rows] == ["ok", "too-large"]
    assert [(each.num_infeasible, each.num_too_large) for each in result.summary] == [(0, 0), (1, 1)]


def test_names_of_policies_are_not_folded() -> None:
    options = ("--policies", "contention-aware,smallest-area-first", "--orders", "own,longest-first")
    lines = run("compare", FIRST, *options).stdout.splitlines()
    assert sum(line.startswith("smallest-area-first (smallest-area-first)  1  ") for line in lines) == 1
    assert not any("…" in line for line in lines)


def test_a_limit_that_applies_to_no_policy() -> None:
    said = sentence(run("compare", FIRST, "--policies", "lwf,fifo", "--time-limit", "2s"))
    assert said == "Error: --time-limit is not allowed with these policies, only with search, exact"


def test_the_order_of_a_policy_is_one_of_the_orders() -> None:
    assert "unknown order 'ow' (did you mean 'own'?)" in sentence(
        run("compare", FIRST, "--policies", "lwf", "--orders", "ow")
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((FIRST, ["lwf"]), "scenarios must be a list, not a string"),
        (([FIRST], "lwf,fifo"), "policies must be a list, not a string"),
    ],
)
def test_a_string_is_no_list(arguments: tuple[object, object], said: str) -> None:
    with pytest.raises(ringsched.InputError, match=said):
        ringsched.compare(*arguments)  # type: ignore[arg-type]
    with pytest.raises(ringsched.InputError, match="scenarios must be a list, not a Scenario"):
        ringsched.compare(ringsched.load_scenario(FIRST), ["lwf"])  # type: ignore[arg-type]


def test_a_gap_below_1_is_explained() -> None:
    scenario = ringsched.load_scenario(FIRST)
    with pytest.raises(ringsched.InputError, match=r"gap is a ratio here: 1\.01 means 1 % above the bound"):
        ringsched.plan(scenario, stop=Stop(gap=0.01))


def test_minutes_are_suggested() -> None:
    assert sentence(run("plan", FIRST, "--time-limit", "5m")).endswith("not '5m' (did you mean 5min?)")
    assert "did you mean" not in sentence(run("plan", FIRST, "--time-limit", "5x"))


def test_a_share_in_percent_is_explained() -> None:
    said = sentence(run("generate", "poisson", "--load", "90%"))
    assert "--load must be a number such as 0.9, not '90%'" in said


@pytest.mark.parametrize("command", ["plan", "simulate"])
def test_slots_so_short_that_a_submit_is_infinitely_many(command: str, tmp_path: Path) -> None:
    """It printed a traceback: cannot convert float NaN to integer."""
    jobs = [FULL["jobs"][0] | {"submit_s": 1.5}]
    short = FULL | {"time": {"model": "slotted", "slot_s": 5e-324}, "jobs": jobs}
    said = sentence(run(command, write_json(tmp_path, short)))
    assert said.endswith(": the job may end too late to be counted exactly")


def test_an_end_that_is_beyond_all_numbers(tmp_path: Path) -> None:
    """Python warned of an overflow: the submit and the duration are numbers, but their sum is not."""
    late = FULL["jobs"][0] | {"submit_s": 1.7e308, "iterations": 10**6, "backward_ms": 1e305}
    said = sentence(
        run("plan", write_json(tmp_path, FULL | {"time": {"model": "continuous"}, "jobs": [late]}))
    )
    assert said.endswith(": the job may end too late to be counted exactly")
