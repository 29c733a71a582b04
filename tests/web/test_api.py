"""Every endpoint answers what the command line would, and says no as it does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests import planning
from tests.cli.helpers import run

import ringsched
from ringsched.formats.plan import plan_from_dict, plan_to_json
from ringsched.reporting.data import report_data
from ringsched.web.bodies import PlanBody
from ringsched.web.inputs import search_limit_s

pytestmark = pytest.mark.compiled

FIRST = Path(__file__).parents[2] / "examples" / "first.toml"


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory, small: Any, plan: Any) -> tuple[str, str]:
    """The scenario and the plan as files, for the command line."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "small.json").write_text(json.dumps(small))
    (folder / "plan.json").write_text(json.dumps(plan))
    return str(folder / "small.json"), str(folder / "plan.json")


def refused(answer: httpx.Response, status: int) -> dict[str, Any]:
    """Return what is said of a refusal, which has the one shape of all."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    content = answer.json()
    assert list(content) == ["error"]
    assert content["error"].keys() <= {"message", "place", "field", "status", "lower_bound_s"}
    assert "Traceback" not in answer.text
    error: dict[str, Any] = content["error"]
    return error


def test_about_tells_what_there_is(client: httpx.Client) -> None:
    about = client.get("/about").json()
    assert about["version"] == ringsched.__version__
    assert [policy["name"] for policy in about["policies"]] == [p.name for p in ringsched.list_policies()]
    assert about["orders"] == list(ringsched.ORDERS)
    assert about["catalogue"]["resnet50"]["gradient_mb"] == 99.2
    assert about["limits"]["body_bytes"] == 32 * 2**20


def test_every_example_can_be_planned(client: httpx.Client) -> None:
    sizes = {}
    for example in client.get("/about").json()["examples"]:
        scenario = client.get(f"/examples/{example['name']}").json()["scenario"]
        sizes[example["name"]] = len(scenario["jobs"])
        answer = client.post("/plan", json={"scenario": scenario, "policy": "longest-first"})
        assert answer.status_code == 200
        assert answer.json()["plan"]["scenario_sha256"] == ringsched.scenario_from_dict(scenario).sha256()
    assert sizes == {"small": 6, "racks": 12, "paper": 160, "large": 2000}


def test_an_unknown_example_names_the_choices(client: httpx.Client) -> None:
    assert "small, racks, paper, large" in refused(client.get("/examples/none"), 404)["message"]


def test_a_scenario_is_completed(client: httpx.Client) -> None:
    answer = client.post("/scenario", json={"text": FIRST.read_text(), "format": "toml"}).json()
    scenario = ringsched.load_scenario(FIRST)
    assert answer == {"scenario": scenario.expanded(), "sha256": scenario.sha256()}
    again = client.post("/scenario", json={"text": json.dumps(answer["scenario"]), "format": "json"}).json()
    assert again == answer


def test_a_plan_is_that_of_the_library(client: httpx.Client, small: Any) -> None:
    body = {"scenario": small, "policy": "random", "seed": 3, "order": "fifo", "pictures": True}
    answer = client.post("/plan", json=body).json()
    scenario = ringsched.scenario_from_dict(small)
    expected = ringsched.plan(scenario, "random", seed=3, order="fifo")
    assert answer["plan"] == json.loads(plan_to_json(expected))
    assert answer["pictures"] == json.loads(json.dumps(report_data(scenario, {"random": expected})))
    assert 0 < answer["planning_s"] < 60


def test_all_options_arrive(client: httpx.Client, small: Any) -> None:
    given = {"kappa": 2, "theta": 500, "slack": 2.0, "objective": "mean-completion"}
    answer = client.post("/plan", json={"scenario": small, "policy": "sjf-bco", **given}).json()["plan"]
    assert (answer["params"]["kappa"], answer["slack"], answer["objective"]) == (2, 2.0, "mean-completion")
    given = {"iterations": 200, "seed": 1, "gap": 1.01, "time_limit_s": 5}
    answer = client.post("/plan", json={"scenario": small, "policy": "search", **given}).json()["plan"]
    assert answer["seed"] == 1
    assert 0 < answer["params"]["iterations"] <= 200
    assert "pictures" not in client.post("/plan", json={"scenario": small, "policy": "first-fit"}).json()


@pytest.mark.parametrize("job", [None, "vgg"])
def test_explain_as_on_the_command_line(
    client: httpx.Client, small: Any, plan: Any, files: Any, job: Any
) -> None:
    answer = client.post("/explain", json={"scenario": small, "plan": plan, "job": job}).json()
    options = [] if job is None else ["--job", job]
    assert answer == json.loads(run("explain", *files, *options, "--json").stdout)


def test_verify_as_on_the_command_line(client: httpx.Client, small: Any, plan: Any, files: Any) -> None:
    assert client.post("/verify", json={"scenario": small, "plan": plan}).json() == {
        "valid": True,
        "violations": [],
    }
    wrong = plan | {"makespan_s": 1.0}
    answer = client.post("/verify", json={"scenario": small, "plan": wrong}).json()
    assert not answer["valid"]
    assert answer["violations"]


def test_whatif_as_on_the_command_line(client: httpx.Client, small: Any, plan: Any, files: Any) -> None:
    changes = [{"add_servers": {"count": 2, "gpus": 8}}, {"link_factor": 2}, {"contention": {"share": 0.5}}]
    answer = client.post("/whatif", json={"scenario": small, "plan": plan, "changes": changes}).json()
    options = ["--add-servers", "2x8", "--link-factor", "2", "--set", "contention.share=0.5", "--json"]
    assert answer == json.loads(run("whatif", *files, *options).stdout)
    of_servers = [{"link_factor": {"factor": 2, "level": 0}}]
    answer = client.post("/whatif", json={"scenario": small, "plan": plan, "changes": of_servers}).json()
    assert answer == json.loads(run("whatif", *files, "--link-factor", "2@0", "--json").stdout)
    together = [{"add_servers": 1, "remove_server": "node-3", "inter_server_gbps": 50.0}]
    answer = client.post("/whatif", json={"scenario": small, "plan": plan, "changes": together}).json()
    options = [
        "--add-servers",
        "1",
        "--remove-server",
        "node-3",
        "--set",
        "inter_server_gbps=50.0",
        "--together",
    ]
    assert answer == json.loads(run("whatif", *files, *options, "--json").stdout)


def test_one_more_job_as_on_the_command_line(client: httpx.Client, small: Any, files: Any) -> None:
    job = {"gpus": 2, "iterations": 500, "model": "vgg16"}
    answer = client.post("/whatif", json={"scenario": small, "job": job, "policy": "sjf-bco"}).json()
    options = ["--add-job", "gpus=2,iterations=500,model=vgg16", "--policy", "sjf-bco", "--json"]
    assert answer == json.loads(run("whatif", files[0], *options).stdout)


def test_compare_as_on_the_command_line(client: httpx.Client, small: Any, files: Any) -> None:
    body = {
        "scenarios": [small],
        "policies": ["sjf-bco", "random"],
        "orders": ["own", "fifo"],
        "seeds": 3,
        "seed": 1,
    }
    answer = client.post("/compare", json=body).json()
    options = [
        "--policies",
        "sjf-bco,random",
        "--orders",
        "own,fifo",
        "--seeds",
        "3",
        "--first-seed",
        "1",
        "--json",
    ]
    expected = json.loads(run("compare", files[0], *options).stdout)
    assert _without_times(answer) == _without_times(expected)


def _without_times(comparison: dict[str, Any]) -> Any:
    """Leave out what is measured, and the scenario's name, which the command line takes from the file."""
    rows = [row | {"planning_s": 0, "scenario": ""} for row in comparison["rows"]]
    means = [(each["policy"], each["order"], each["means"]["makespan_s"]) for each in comparison["summary"]]
    return comparison["baseline"], rows, means


def test_pictures_and_report_of_several_plans(client: httpx.Client, small: Any, plan: Any) -> None:
    body = {"scenario": small, "plans": {"one": plan, "<two>": plan}}
    scenario = ringsched.scenario_from_dict(small)
    same = ringsched.plan(scenario, "sjf-bco")
    expected = json.loads(json.dumps(report_data(scenario, {"one": same, "<two>": same})))
    assert client.post("/pictures", json=body).json() == expected
    page = client.post("/report", json=body)
    assert page.text == ringsched.report(scenario, {"one": same, "<two>": same})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-disposition"] == 'attachment; filename="report.html"'


def test_infeasible_carries_the_bound(client: httpx.Client, small: Any) -> None:
    tight = small | {"time": {"slot_s": 10.0, "horizon_s": 20.0}}
    error = refused(client.post("/plan", json={"scenario": tight, "policy": "sjf-bco"}), 409)
    assert error["status"] == "infeasible"
    assert error["lower_bound_s"] > 20
    assert error["message"].startswith("infeasible within the horizon of 20 s")


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("plan", {"policy": "fifo"}, "scenario is missing"),
        ("plan", {"scenario": {}, "policy": "fifo"}, "cluster is missing"),
        ("plan", {"scenario": 3, "policy": "fifo"}, "scenario must be an object, not 3"),
        ("plan", {"scenario": {}, "polcy": "fifo"}, "unknown key 'polcy' (did you mean 'policy'?)"),
        ("plan", {"scenario": {}, "policy": "fifo", "kappa": True}, "kappa must be an integer, not true"),
        ("plan", {"scenario": {}, "policy": "fifo", "kappa": 2.5}, "kappa must be an integer, not 2.5"),
        (
            "plan",
            {"scenario": {"jobs_file": "/etc/passwd"}, "policy": "fifo"},
            "jobs_file is not allowed here",
        ),
        ("compare", {"scenarios": [], "policies": []}, "policies must name at least one"),
        ("whatif", {"scenario": {}}, "changes give either"),
        ("pictures", {"scenario": {}, "plans": {}}, "plans must hold at least one plan"),
        ("scenario", {"text": "a = = 1"}, "text is not valid TOML"),
        ("scenario", {"text": "[]", "format": "json"}, "must hold a JSON object, not a list"),
        ("scenario", {"text": "", "format": "yaml"}, "format must be 'toml' or 'json', not 'yaml'"),
    ],
)
def test_wrong_input_is_said_in_a_sentence(client: httpx.Client, path: str, body: Any, sentence: str) -> None:
    assert sentence in refused(client.post(f"/{path}", json=body), 422)["message"]


def test_wrong_input_of_the_library_has_place_and_field(client: httpx.Client, small: Any, plan: Any) -> None:
    jobs = [*small["jobs"], {"name": "wide", "gpus": 100, "iterations": 1, "model": "vgg16"}]
    error = refused(
        client.post("/plan", json={"scenario": small | {"jobs": jobs}, "policy": "first-fit"}), 422
    )
    assert (error["place"], error["field"]) == ("jobs[6] 'wide'", "gpus")
    error = refused(client.post("/plan", json={"scenario": small, "policy": "serch"}), 422)
    assert "did you mean 'search'?" in error["message"]
    body = {"scenario": small, "policy": "search", "time_limit_s": 1e9}
    assert refused(client.post("/plan", json=body), 422)["field"] == "time_limit_s"
    error = refused(client.post("/verify", json={"scenario": small, "plan": {}}), 422)
    assert error["message"] == "plan: format is missing: not a plan"
    other = small | {"name": "other"}
    error = refused(client.post("/pictures", json={"scenario": other, "plans": {"a": plan}}), 422)
    assert error["place"] == "plan 'a'"


def test_assets_come_from_a_table(client: httpx.Client, served: Any) -> None:
    style = httpx.get(f"{served.url}/assets/report.css")
    assert style.status_code == 200
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    names = ("__init__.py", "..%2f..%2fapi.py", "%2e%2e/app.py", "/etc/passwd", "report.css%00.js", "")
    for name in names:
        refused(httpx.get(f"{served.url}/assets/{name}"), 404)


def test_answers_carry_the_headers(client: httpx.Client, served: Any) -> None:
    for answer in (client.get("/about"), client.get("/none"), httpx.get(f"{served.url}/assets/report.css")):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert client.get("/about").headers["cache-control"] == "no-store"


def test_no_documentation_from_elsewhere(served: Any) -> None:
    for path in ("/docs", "/redoc", "/openapi.json"):
        refused(httpx.get(f"{served.url}{path}"), 404)
    assert httpx.get(f"{served.url}/api/v1/openapi.json").json()["openapi"].startswith("3.")


def events_of(client: httpx.Client, name: str) -> Iterator[tuple[str, Any]]:
    kind = ""
    with client.stream("GET", f"/searches/{name}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        for line in stream.iter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield kind, json.loads(line.removeprefix("data: "))


def test_a_search_tells_how_it_goes_until_it_is_stopped(client: httpx.Client) -> None:
    """It has no end of its own, so that nobody can listen too late."""
    paper = client.get("/examples/paper").json()["scenario"]
    scenario = ringsched.scenario_from_dict(paper)
    body = {"scenario": paper, "policy": "search", "iterations": 10**9}
    name = client.post("/searches", json=body).json()["id"]
    events = []
    for event in events_of(client, name):
        events.append(event)
        if {kind for kind, _ in events} == {"progress", "better"}:
            client.delete(f"/searches/{name}")
    kinds = [kind for kind, _ in events]
    assert set(kinds) == {"progress", "better", "end"}
    assert kinds.index("end") == len(kinds) - 1
    values = [content["value_s"] for kind, content in events if kind == "progress"]
    assert values == sorted(values, reverse=True)
    for kind, content in events:
        if kind == "better":
            assert content.keys() == {"progress", "plan", "pictures"}
            assert ringsched.verify(scenario, plan_from_dict(content["plan"])).valid
    assert events[-1][1]["state"] == "stopped"


def test_a_search_ends_with_the_plan_of_its_seed(client: httpx.Client) -> None:
    paper = client.get("/examples/paper").json()["scenario"]
    body = {"scenario": paper, "policy": "search", "iterations": 20_000, "seed": 2}
    name = client.post("/searches", json=body).json()["id"]
    *_, (kind, last) = events_of(client, name)
    assert (kind, last["state"]) == ("end", "done")
    assert last["pictures"]["numJobs"] == 160
    expected = planning.plan(ringsched.scenario_from_dict(paper), "search", iterations=20_000, seed=2)
    assert last["plan"] == json.loads(plan_to_json(expected))
    again = client.get(f"/searches/{name}").json()
    assert again == {key: last[key] for key in ("state", "progress", "plan")}
    assert client.delete(f"/searches/{name}").json() == again
    assert [kind for kind, _ in events_of(client, name)] == ["end"]


def test_a_search_that_cannot_be_says_why(client: httpx.Client, small: Any) -> None:
    impossible = small | {"time": small["time"] | {"horizon_s": 10.0}}
    name = client.post("/searches", json={"scenario": impossible, "policy": "sjf-bco"}).json()["id"]
    *_, (kind, content) = events_of(client, name)
    assert (kind, content["state"]) == ("end", "failed")
    assert content["error"]["message"].startswith("infeasible within the horizon of 10 s")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kappa": 3}, "kappa is not allowed with policy 'search'"),
        ({"policy": "sjf-bco", "kappa": 0}, "kappa must be an integer >= 1"),
        (
            {"policy": "exact", "model": "phases"},
            "contention.model 'phases' is not supported by policy 'exact'",
        ),
    ],
)
def test_a_search_that_is_wrong_is_not_started(
    client: httpx.Client, small: Any, options: dict[str, Any], said: str
) -> None:
    model = options.pop("model", None)
    scenario = small if model is None else small | {"contention": {"model": model}}
    answer = client.post("/searches", json={"scenario": scenario, "policy": "search"} | options)
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith(said)


@pytest.mark.parametrize("stated", ["abc", "inf", -1e999])
def test_a_bound_that_states_nonsense_is_named_and_no_more(
    client: httpx.Client, small: Any, stated: Any
) -> None:
    plan = client.post("/plan", json={"scenario": small, "policy": "first-fit"}).json()["plan"]
    plan["bounds"][0]["terms"] = dict.fromkeys(plan["bounds"][0]["terms"], str(stated))
    answer = client.post("/pictures", json={"scenario": small, "plans": {"a": plan}})
    assert answer.status_code in (200, 422)


def test_instants_too_far_apart_are_refused(client: httpx.Client, small: Any) -> None:
    plan = client.post("/plan", json={"scenario": small, "policy": "first-fit"}).json()["plan"]
    plan["jobs"][0] |= {"start_s": -1.7e308, "finish_s": 1.7e308}
    answer = client.post("/pictures", json={"scenario": small, "plans": {"a": plan}})
    assert answer.status_code == 422
    assert "too far apart" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"gpus": {"node-0": list(range(200_000))}},
        {"gpus": {f"node-{at}": [0] for at in range(200_000)}},
        {"ring": [["node-0", at] for at in range(200_000)]},
    ],
    ids=["gpus", "servers", "ring"],
)
def test_a_plan_of_many_wrong_gpus_is_not_judged_one_by_one(
    client: httpx.Client, small: Any, plan: Any, wrong: Any
) -> None:
    first, *others = plan["jobs"]
    large = plan | {"jobs": [first | wrong, *others]}
    for path, body in (("pictures", {"plans": {"a": large}}), ("verify", {"plan": large})):
        error = refused(client.post(f"/{path}", json={"scenario": small, **body}), 413)
        assert "GPUs are more than the limit of 10024 on this server" in error["message"]


def test_links_next_to_nothing_are_no_error_of_ours(client: httpx.Client, small: Any) -> None:
    slow = small | {
        "contention": {"model": "max-min"},
        "cluster": small["cluster"] | {"inter_server_gbps": 5e-324},
    }
    assert client.post("/plan", json={"scenario": slow, "policy": "first-fit"}).status_code in (200, 409, 422)


def test_a_search_ends_before_its_request_does() -> None:
    for asked_s, iterations, most_s, expected_s in (
        (None, None, 60, 10),
        (8, None, 8, 5.4),
        (None, 100, 8, 5.4),
    ):
        body = PlanBody(scenario={}, policy="search", time_limit_s=asked_s, iterations=iterations)
        assert search_limit_s(body, most_s) == pytest.approx(expected_s)
