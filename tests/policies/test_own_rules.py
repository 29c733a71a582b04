"""A placement rule and policies of a user's own, in a file outside the package."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli.helpers import run
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched.policies.custom import policy_from_file
from ringsched.rules.table import RANDOM_FIT

FILE = '''
from ringsched import Policy, Rule
from ringsched.jit import kernel
from ringsched.rules.best_fit import one_server, take
from ringsched.rules.shared import sort


@kernel
def most_idle(arrays, state):
    most = 0
    for server in range(arrays.num_servers):
        most = max(most, state.num_idle[server])
    return most


def tightest(arrays, state, scratch, queue, job, limit, kappa):
    """Best fit, as a user may write it."""
    wanted, num_chosen = arrays.gpus[job], 0
    if one_server(arrays, state, job):
        return True
    for idle in range(most_idle(arrays, state), 0, -1):
        for server in range(arrays.num_servers):
            if state.num_idle[server] == idle:
                num_chosen = take(arrays, state, server, num_chosen, wanted)
                if num_chosen == wanted:
                    sort(state.chosen, wanted)
                    return True
    return False


ByKernel = Policy(name="by-kernel", order="longest-first", placement=Rule("tightest", tightest))


class Emptiest:
    def place(self, job, cluster):
        chosen, missing = {}, job.gpus
        for server in sorted(cluster.servers, key=lambda server: -len(server.idle)):
            if missing and server.idle:
                chosen[server.name] = server.idle[:missing]
                missing -= len(chosen[server.name])
        return None if missing else chosen
'''
QUEUE = scenario(cluster(4, 4, 2), *(job(f"j{at}", gpus=1 + at % 5, iterations=10 + at) for at in range(12)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def loaded(file: Path, name: str) -> ringsched.Policy:
    found = policy_from_file(f"{file}:{name}")
    assert found is not None
    policy = found.load()
    assert isinstance(policy, ringsched.Policy)
    return policy


def same_jobs(one: ringsched.Plan, other: ringsched.Plan) -> bool:
    return one.jobs == other.jobs and one.makespan_s == other.makespan_s


@pytest.mark.parametrize("mode", ["python", "compiled"])
def test_a_rule_of_the_users_plans_as_the_same_rule_of_ours(
    file: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGSCHED_KERNELS", mode)
    ours = ringsched.plan(QUEUE, "longest-first")  # first: its kernels once took the place of the user's
    plan = ringsched.plan(QUEUE, loaded(file, "ByKernel"))
    assert plan.policy == "by-kernel"
    assert same_jobs(plan, ours)
    assert ringsched.verify(QUEUE, plan).valid


def test_a_rule_of_the_users_simulates(file: Path) -> None:
    own = ringsched.simulate(QUEUE, loaded(file, "ByKernel"), backfill="easy")
    ours = ringsched.simulate(QUEUE, "longest-first", backfill="easy")
    assert own.start_s.tolist() == ours.start_s.tolist()


@pytest.fixture
def as_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a rule is compiled follows from the work: a small queue never waits for it."""
    monkeypatch.delenv("RINGSCHED_KERNELS")


@pytest.mark.usefixtures("as_a_user")
def test_policies_of_a_file_are_compared(file: Path) -> None:
    own = [policy_from_file(f"{file}:{name}") for name in ("ByKernel", "Emptiest")]
    result = ringsched.compare([QUEUE], ["longest-first", *own], workers=1)
    by_policy = {row.policy: row.makespan_s for row in result.rows}
    assert by_policy["by-kernel"] == by_policy["longest-first"]
    assert set(by_policy) == {"longest-first", "by-kernel", "Emptiest"}


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize("command", [["plan"], ["compare", "--workers", "2"]])
@pytest.mark.parametrize("name", ["ByKernel", "Emptiest"])
def test_a_policy_of_a_file_on_the_command_line(
    file: Path, tmp_path: Path, command: list[str], name: str
) -> None:
    path = tmp_path / "queue.json"
    ringsched.save_scenario(QUEUE, path)
    option = "--policy" if command == ["plan"] else "--policies"
    arguments = [command[0], str(path), option, f"{file}:{name}", *command[1:], "--json"]
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert name == "Emptiest" or "by-kernel" in json.dumps(content)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("absent.py:Mine", "absent.py: there is no such file; a custom policy is FILE.py:NAME"),
        ("{file}:Mine", "unknown policy 'Mine'"),
        ("{broken}:Mine", "cannot be loaded: ZeroDivisionError"),
        ("{file}:tightest", "must be the name of a policy"),
    ],
)
def test_what_is_wrong_with_a_policy_of_a_file(file: Path, tmp_path: Path, text: str, said: str) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0\n")
    path = tmp_path / "queue.json"
    ringsched.save_scenario(QUEUE, path)
    policy = text.format(file=file, broken=broken)
    result = run("plan", path, "--policy", policy)
    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output


def test_a_policy_of_a_file_is_no_name_elsewhere(file: Path) -> None:
    """It executes code: only what a user types on the command line is loaded."""
    with pytest.raises(ringsched.InputError, match="unknown policy"):
        ringsched.plan(QUEUE, f"{file}:ByKernel")


def test_a_policy_needs_a_rule_or_a_way_to_solve() -> None:
    with pytest.raises(ringsched.InputError, match="needs a placement rule"):
        ringsched.Policy(name="empty")
    with pytest.raises(ringsched.InputError, match="unknown order"):
        ringsched.Policy(name="odd", order="sideways", placement=ringsched.Rule("r", lambda *_: False))


def test_names_of_one_table() -> None:
    offline, online = ringsched.list_policies(), ringsched.list_policies(online=True)
    for policy in online:
        assert policy in offline or policy.name == "rolling"
    assert same_jobs(ringsched.plan(QUEUE, "fifo"), ringsched.plan(QUEUE, "longest-first", order="fifo"))


def busy(arrays, state, scratch, queue, job, limit, kappa):  # type: ignore[no-untyped-def]
    for at in range(arrays.gpus[job]):
        state.chosen[at] = at
    return True


def twice(arrays, state, scratch, queue, job, limit, kappa):  # type: ignore[no-untyped-def]
    for at in range(arrays.gpus[job]):
        state.chosen[at] = 0
    return True


@pytest.mark.parametrize(("rule", "said"), [(busy, "another job holds"), (twice, "names a GPU twice")])
def test_a_rule_that_gives_what_it_has_not(rule: object, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSCHED_KERNELS", "python")
    queue = scenario(cluster(4), job("a", gpus=2), job("b", gpus=2))
    policy = ringsched.Policy(name="wrong", placement=ringsched.Rule("wrong", rule))  # type: ignore[arg-type]
    with pytest.raises(ringsched.PolicyError, match=said):
        ringsched.plan(queue, policy)
    with pytest.raises(ringsched.PolicyError, match=said):
        ringsched.simulate(queue, policy)


def test_a_file_that_changed_is_loaded_again(file: Path) -> None:
    assert loaded(file, "ByKernel").order == "longest-first"
    file.write_text(FILE.replace("longest-first", "fifo"))
    os.utime(file, ns=(1, 1))
    assert loaded(file, "ByKernel").order == "fifo"


def test_a_class_that_wants_arguments_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wants.py"
    path.write_text("class Wants:\n    def __init__(self, x): ...\n    def place(self, job, cluster): ...\n")
    found = policy_from_file(f"{path}:Wants")
    assert found is not None
    with pytest.raises(ringsched.InputError, match="cannot be loaded: TypeError"):
        found.load()


def test_a_rule_is_a_plain_function_and_no_policy() -> None:
    with pytest.raises(ringsched.InputError, match="must be a plain Python function"):
        ringsched.Rule("print", print)  # type: ignore[arg-type]
    with pytest.raises(ringsched.InputError, match="is a rule; pass Policy"):
        ringsched.plan(QUEUE, ringsched.Rule("busy", busy))  # type: ignore[arg-type]


def test_a_rule_that_draws_has_numbers_to_draw() -> None:
    policy = ringsched.Policy(name="any-gpus", placement=RANDOM_FIT)
    assert ringsched.verify(QUEUE, ringsched.plan(QUEUE, policy, seed=3)).valid
    assert len(ringsched.simulate(QUEUE, policy, seed=3).finish_s) == len(QUEUE.jobs)


@pytest.mark.parametrize("order", ["any", "own", "sideways"])
def test_an_order_without_a_way_to_solve(order: str) -> None:
    with pytest.raises(ringsched.InputError, match="unknown order"):
        ringsched.Policy(name="odd", order=order, placement=RANDOM_FIT)
