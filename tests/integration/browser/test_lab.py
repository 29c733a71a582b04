"""The lab in a real browser, on the real server."""

from __future__ import annotations

import base64
import json
import random
import re
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.integration.browser.conftest import Visit
from tests.reports import HOSTILE_NAMES, SCRIPT, hostile

import ringsched
from ringsched.formatting import percent_above
from ringsched.model.plan import ENDINGS

pytestmark = pytest.mark.compiled

JOBS = "svg.gantt path.job"
# What a browser writes by itself when a server says no; the page says it in words of its own.
EXPECTED = "Failed to load resource: the server responded with a status of 4"
# What is said in passing stays: a busy machine may take longer to read it, or to press its button.
TOASTS_STAY = """const later = window.setTimeout;
window.setTimeout = (act, after, ...more) => (after === 8000 ? 0 : later(act, after, ...more));"""


@pytest.fixture(scope="module")
def lab() -> Iterator[str]:
    """The address of a server on a free port."""
    pytest.importorskip("uvicorn")
    command = [sys.executable, "-m", "ringsched", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        said = server.stdout.readline()
        yield re.findall(r"http://\S+", said)[0]
        server.terminate()
        server.communicate(timeout=120)


Visitor = Callable[..., Visit]


@pytest.fixture
def visiting(browser: Any, lab: str) -> Iterator[Visitor]:
    """A function that opens the lab; nothing may go wrong on any page until the end."""
    visits: list[Visit] = []

    def open_lab(fragment: str = "", **options: Any) -> Visit:
        size = {"width": options.pop("width", 1280), "height": options.pop("height", 900)}
        visit = Visit(browser.new_context(viewport=size, **options).new_page(), allowed=lab)
        visits.append(visit)
        visit.page.add_init_script(TOASTS_STAY)
        visit.page.goto(lab + fragment)
        drawn(visit.page)
        return visit

    yield open_lab
    for visit in visits:
        assert [each for each in visit.complaints if EXPECTED not in each] == []
        visit.page.context.close()


def drawn(page: Any) -> None:
    """Wait until the page shows what was asked for last."""
    page.wait_for_selector("html[data-ready]")
    page.wait_for_selector("body:not(.working, .loading)")


def words(page: Any) -> str:
    return page.locator("#words").inner_text()


def knob(page: Any, label: str, *, side: int = 0) -> Any:
    """A knob of the panel; those of policies are there twice."""
    return page.locator("#panel").get_by_label(label, exact=True).nth(side)


def gets(control: Any, value: str) -> None:
    """Wait until a control has a value."""
    from playwright.sync_api import expect

    expect(control).to_have_value(value)


def choose(page: Any, label: str, value: str, *, side: int = 0) -> None:
    knob(page, label, side=side).select_option(value)
    drawn(page)


def load(page: Any, scenario: ringsched.Scenario) -> None:
    page.set_input_files(
        "input[type=file]",
        {
            "name": "queue.json",
            "mimeType": "application/json",
            "buffer": json.dumps(scenario.expanded()).encode(),
        },
    )
    page.locator("#about", has_text=f"{len(scenario.jobs)} job").wait_for()
    drawn(page)


def downloaded(page: Any, name: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=f"Download {name}").click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def shown_plan(page: Any, folder: Path) -> tuple[ringsched.Scenario, ringsched.Plan]:
    """What the page has planned, as files that the command line reads."""
    scenario = ringsched.load_scenario(downloaded(page, "scenario", folder))
    return scenario, ringsched.load_plan(downloaded(page, "plan", folder))


def test_every_knob_leads_to_the_plan_that_the_library_makes(visiting: Visitor, tmp_path: Path) -> None:
    page = visiting().page
    scenario, plan = shown_plan(page, tmp_path)
    assert plan == ringsched.plan(scenario, "sjf-bco")
    assert page.locator(JOBS).count() == len(scenario.jobs)
    assert words(page).startswith(f"All {len(scenario.jobs)} jobs end within")

    choose(page, "example", "racks")
    knob(page, "kappa").fill("2")
    knob(page, "lambda").fill("1.5")
    choose(page, "order", "longest-first")
    choose(page, "contention", "max-min")
    racks, plan = shown_plan(page, tmp_path)
    assert racks.contention.model == "max-min"
    assert plan == ringsched.plan(racks, "sjf-bco", kappa=2, slack=1.5, order="longest-first")
    assert ringsched.verify(racks, plan).valid

    choose(page, "aim", "mean-completion")
    choose(page, "policy", "longest-first")
    assert knob(page, "kappa").is_disabled()
    assert shown_plan(page, tmp_path)[1] == ringsched.plan(
        racks, "longest-first", objective="mean-completion"
    )
    choose(page, "policy", "search")
    assert knob(page, "order").is_disabled()


SPOKEN = {
    0: "0 s",
    0.25: "0.25 s",
    59: "59 s",
    59.97: "1 min",
    2090: "34 min 50 s",
    3599.9: "1 h",
    5940: "1 h 39 min",
    86399: "1 day",
    183600: "2 days 3 h",
}
SAY = "async given => { const text = await import('/assets/text.js'); return given.map(text.duration); }"


def test_plans_are_put_in_words(visiting: Visitor) -> None:
    page = visiting().page
    assert page.evaluate(SAY, list(SPOKEN)) == list(SPOKEN.values())
    assert words(page) == (
        "All 6 jobs end within 34 min 50 s; the mean completion is 15 min 53 s. "
        "No plan can end before 27 min 50 s: this one is at most 25.2 % above the best possible."
    )
    choose(page, "aim", "mean-completion")
    assert "No plan can have a mean completion below" in words(page)


def test_links_get_faster_all_alike(visiting: Visitor, tmp_path: Path) -> None:
    page = visiting().page
    choose(page, "example", "racks")
    before, _ = shown_plan(page, tmp_path)
    slider = page.get_by_label("link speed, slower to faster")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    drawn(page)
    after, plan = shown_plan(page, tmp_path)
    assert after.cluster.inter_server_gbps == 2 * before.cluster.inter_server_gbps
    assert [rack.uplink_gbps for rack in after.cluster.switches] == [
        2 * rack.uplink_gbps for rack in before.cluster.switches
    ]
    assert plan == ringsched.plan(after, "sjf-bco")
    assert "2 racks" in page.locator("#network").inner_text()
    knob(page, "links, Gbit/s").fill("-3")
    drawn(page)
    assert "the speed of links must be a number > 0, not -3" in page.locator("#network").inner_text()
    choose(page, "contention", "reserved")
    knob(page, "links, Gbit/s").fill("12.5")
    knob(page, "lanes").fill("3")
    drawn(page)
    reserved, plan = shown_plan(page, tmp_path)
    assert (reserved.contention.lanes, reserved.cluster.inter_server_gbps) == (3, 12.5)
    assert plan == ringsched.plan(reserved, "sjf-bco")


def test_more_servers_and_fewer(visiting: Visitor, tmp_path: Path) -> None:
    page = visiting().page
    choose(page, "example", "racks")
    before, _ = shown_plan(page, tmp_path)
    for _ in range(2):
        page.get_by_role("button", name="one server more").click()
    page.locator("#about", has_text="12 jobs on 10 servers").wait_for()
    drawn(page)
    more, plan = shown_plan(page, tmp_path)
    last = before.cluster.servers[-1]
    added = tuple(last.replace(name=name) for name in ("b-4", "b-5"))
    assert more.cluster.servers == before.cluster.servers + added
    assert plan == ringsched.plan(more, "sjf-bco")
    assert "2 more than the scenario's, like b-3: 4 GPUs, rack right" in page.locator("#network").inner_text()
    page.reload()
    drawn(page)
    assert shown_plan(page, tmp_path) == (more, plan)
    assert knob(page, "example").input_value() == "racks"  # still, as a knob changes no scenario

    knob(page, "servers").fill("7")
    drawn(page)
    fewer, plan = shown_plan(page, tmp_path)
    assert fewer.cluster.servers == before.cluster.servers[:7]
    assert plan == ringsched.plan(fewer, "sjf-bco")
    for typed, said in (
        ("0", "servers must be an integer >= 1, not 0"),
        ("2.5", "not 2.5"),
        ("many", "not 'many'"),
    ):
        knob(page, "servers").fill(typed)
        drawn(page)
        assert said in page.locator("#network .wrong:not(:empty)").inner_text()
    knob(page, "servers").fill("1000000000")
    drawn(page)
    assert "1000000000 servers are more than" in page.locator("#failure").inner_text()
    knob(page, "servers").fill("2")
    drawn(page)
    assert page.locator("#failure").inner_text() == (
        "jobs[0] 'pretrain': gpus = 24 is more than the 16 GPUs available in the cluster"
    )
    knob(page, "servers").fill("8")
    drawn(page)
    assert shown_plan(page, tmp_path)[0] == before


def test_a_job_has_to_fit_into_the_servers_that_are_planned_with(visiting: Visitor, tmp_path: Path) -> None:
    page = visiting().page
    knob(page, "servers").fill("3")
    drawn(page)
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name="Edit bert").click()
    dialog.get_by_label("GPUs").fill("13")
    dialog.get_by_role("button", name="Save").click()
    dialog.get_by_text("GPUs = 13 is more than the 12 GPUs available").wait_for()
    dialog.get_by_role("button", name="Cancel").click()
    change_job(page, "bert", "GPUs", "12")
    knob(page, "servers").fill("")  # as the scenario says
    drawn(page)
    assert len(shown_plan(page, tmp_path)[0].cluster.servers) == 4
    knob(page, "servers").fill("6")
    drawn(page)
    change_job(page, "bert", "GPUs", "24")
    planned = shown_plan(page, tmp_path)
    assert (planned[0].jobs[0].gpus, len(planned[0].cluster.servers)) == (24, 6)
    page.reload()  # the address holds a scenario that fits
    drawn(page)
    assert shown_plan(page, tmp_path) == planned


NAMES = """async (given) => {
  const { withServers } = await import("/assets/servers.js");
  const named = (names) => ({ cluster: { servers: names.map((name) => ({ name, gpus: 1 })) } });
  return given.map((names) => withServers(named(names), 4).cluster.servers.map((each) => each.name));
}"""


def test_new_servers_have_names_of_their_own(visiting: Visitor) -> None:
    given = [["node-4", "node-2"], ["gpu08", "gpu09"], ["big"], ["-2", "x1234567890123"]]
    assert visiting().page.evaluate(NAMES, given) == [
        ["node-4", "node-2", "node-3", "node-5"],
        ["gpu08", "gpu09", "gpu10", "gpu11"],
        ["big", "big-2", "big-3", "big-4"],
        ["-2", "x1234567890123", "x1234567890124", "x1234567890125"],
    ]


def test_a_job_is_added_changed_removed_and_had_back(visiting: Visitor, tmp_path: Path) -> None:
    page = visiting().page
    count = page.locator(JOBS).count()
    page.get_by_role("button", name="Add job").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("name", exact=True).fill("mine")
    dialog.get_by_label("fill in from").select_option("vgg16")
    dialog.get_by_label("GPUs").fill("99")
    dialog.get_by_role("button", name="Save").click()
    dialog.get_by_text("GPUs = 99 is more than the 16 GPUs available").wait_for()
    dialog.get_by_label("GPUs").fill("2")
    dialog.get_by_role("button", name="Save").click()
    dialog.wait_for(state="hidden")
    drawn(page)
    assert page.locator(JOBS).count() == count + 1
    scenario, plan = shown_plan(page, tmp_path)
    assert (scenario.jobs[-1].name, scenario.jobs[-1].gpus, scenario.jobs[-1].gradient_mb) == (
        "mine",
        2,
        526.4,
    )
    assert plan == ringsched.plan(scenario, "sjf-bco")

    page.get_by_role("button", name="Edit mine").click()
    dialog.get_by_label("iterations").fill("123")
    dialog.get_by_role("button", name="Save").click()
    dialog.wait_for(state="hidden")
    assert page.locator("#jobs tr", has_text="mine").get_by_text("123", exact=True).count() == 1
    page.get_by_role("button", name="Remove mine").click()
    drawn(page)
    assert page.locator(JOBS).count() == count
    page.get_by_role("button", name="Undo").click()
    drawn(page)
    assert page.locator(JOBS).count() == count + 1
    page.go_back()
    page.get_by_role("button", name="Edit mine").wait_for(state="detached")


def change_job(page: Any, name: str, label: str, value: str) -> None:
    """Change one field of a job."""
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name=f"Edit {name}", exact=True).click()
    dialog.get_by_label(label, exact=True).fill(value)
    dialog.get_by_role("button", name="Save").click()
    dialog.wait_for(state="hidden")
    drawn(page)


def undo(page: Any) -> None:
    page.get_by_role("button", name="Undo").click()
    drawn(page)


def test_a_removed_job_comes_back_among_what_was_changed_since(visiting: Visitor, tmp_path: Path) -> None:
    page = visiting().page
    before = ringsched.load_scenario(downloaded(page, "scenario", tmp_path)).jobs
    page.get_by_role("button", name=f"Remove {before[1].name}", exact=True).click()
    drawn(page)
    change_job(page, before[0].name, "iterations", "123")
    undo(page)
    after = ringsched.load_scenario(downloaded(page, "scenario", tmp_path)).jobs
    assert after == (before[0].replace(iterations=123), *before[1:])
    assert knob(page, "example").input_value() == ""

    choose(page, "example", "small")
    page.get_by_role("button", name=f"Remove {before[-1].name}", exact=True).click()
    drawn(page)
    assert knob(page, "example").input_value() == ""
    undo(page)
    assert knob(page, "example").input_value() == "small"  # as it came


def test_a_removed_job_whose_name_is_taken_comes_back_under_another(
    visiting: Visitor, tmp_path: Path
) -> None:
    page = visiting().page
    before = ringsched.load_scenario(downloaded(page, "scenario", tmp_path)).jobs
    page.get_by_role("button", name=f"Remove {before[0].name}", exact=True).click()
    drawn(page)
    change_job(page, before[1].name, "name", before[0].name)
    undo(page)
    scenario, plan = shown_plan(page, tmp_path)
    assert scenario.jobs[0] == before[0].replace(name="job-6")
    assert scenario.jobs[1] == before[1].replace(name=before[0].name)
    assert ringsched.verify(scenario, plan).valid


def test_no_job_is_put_back_into_another_scenario(visiting: Visitor) -> None:
    page = visiting().page
    removal = page.get_by_role("button", name="Remove lstm")
    removal.click()
    page.get_by_role("button", name="Undo").wait_for()
    choose(page, "example", "racks")
    page.get_by_role("button", name="Undo").wait_for(state="hidden")
    choose(page, "example", "small")
    removal.click()
    page.get_by_role("button", name="Undo").wait_for()
    page.go_back()  # which brings the job back by itself
    removal.wait_for()
    page.get_by_role("button", name="Undo").wait_for(state="hidden")


def test_a_search_says_why_it_ended(visiting: Visitor, tmp_path: Path) -> None:
    """It once said "done" only, and the time of the last progress instead of that of the end."""
    page = visiting().page
    page.get_by_role("button", name="Search for a better plan").click()
    page.locator("#search .said", has_text="done").wait_for()
    _, plan = shown_plan(page, tmp_path)
    assert plan.ended is not None
    assert page.locator("#search .said").inner_text() == f"done: {ENDINGS[plan.ended]}"


def test_a_search_is_watched_and_stopped(visiting: Visitor, tmp_path: Path) -> None:
    page = visiting().page
    choose(page, "example", "paper")
    knob(page, "time limit, s").fill("600")
    knob(page, "time limit, s").blur()
    page.get_by_role("button", name="Search for a better plan").click()
    page.locator("#search .said", has_text="searching").wait_for()
    assert {"best", "lower bound", "gap"} <= set(page.locator("#search dt").all_inner_texts())
    tried = page.locator("#search dd").nth(3)
    before = tried.inner_text()
    page.locator("#search dd").nth(3).filter(has_not_text=re.compile(f"^{before}$")).wait_for()  # it goes on
    assert page.locator("svg.search path.best").count() == 1
    page.get_by_role("button", name="Stop").click()
    page.locator("#search .said", has_text="stopped").wait_for()
    drawn(page)
    scenario, plan = shown_plan(page, tmp_path)
    assert plan.policy == "search"
    assert ringsched.verify(scenario, plan).valid
    assert percent_above(plan.gap) == page.locator("#search dd").nth(2).inner_text()


def test_a_search_that_nobody_watches_ends(visiting: Visitor, lab: str) -> None:
    page = visiting().page
    choose(page, "example", "paper")
    knob(page, "time limit, s").fill("600")
    with page.expect_response(lambda each: each.url.endswith("/searches")) as begun:
        page.get_by_role("button", name="Search for a better plan").click()
    first = begun.value.json()["id"]
    page.locator("#search .said", has_text="searching").wait_for()
    with page.expect_response(lambda each: each.url.endswith("/searches")) as begun:
        page.reload()  # in the middle of it: it begins anew, and the old one ends
    second = begun.value.json()["id"]
    page.locator("#search .said", has_text="searching").wait_for()
    choose(page, "policy", "longest-first")
    for each in (first, second):
        address = f"{lab}api/v1/searches/{each}"
        while (state := page.request.get(address).json()["state"]) == "running":  # until its limit at most
            page.wait_for_timeout(100)
        assert state == "stopped"


def test_two_policies_side_by_side(visiting: Visitor, tmp_path: Path) -> None:
    page = visiting(width=1400).page
    choose(page, "example", "racks")
    choose(page, "policy", "longest-first")
    page.get_by_label("compare with another policy").check()
    page.locator("svg.gantt").nth(1).wait_for()
    drawn(page)
    assert page.locator("#gantt h3").all_inner_texts() == ["longest-first", "sjf-bco"]  # never the same twice
    choose(page, "policy", "sjf-bco")
    choose(page, "policy", "list-scheduling", side=1)
    page.locator("#gantt h3", has_text="list-scheduling").wait_for()
    assert page.locator("#gantt h3").all_inner_texts() == ["sjf-bco", "list-scheduling"]
    axes = [page.locator("svg.gantt").nth(at).locator(".axis text").all_inner_texts() for at in (0, 1)]
    assert axes[0] == axes[1]
    left, right = (page.locator("svg.gantt").nth(at).bounding_box() for at in (0, 1))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    assert "sooner" in words(page)
    assert page.locator("#figures tbody tr").count() == 2
    report = downloaded(page, "report", tmp_path).read_text(encoding="utf-8")
    assert "list-scheduling" in report
    assert "sjf-bco" in report
    choose(page, "policy", "sjf-bco", side=1)  # the same twice is no error
    page.locator("#gantt h3", has_text="sjf-bco (2)").wait_for()
    assert "same time" in words(page)


def test_the_address_is_all_there_is(visiting: Visitor, browser: Any, tmp_path: Path) -> None:
    visit = visiting()
    page = visit.page
    choose(page, "policy", "list-scheduling")
    knob(page, "links, Gbit/s").fill("40")
    drawn(page)
    page.get_by_role("button", name="Remove lstm").click()
    page.get_by_role("button", name="Edit lstm").wait_for(state="detached")
    drawn(page)
    page.get_by_role("button", name="bandwidth in use").click()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    page.locator("#toast", has_text="copied").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    said = words(page)
    other = visiting(link[link.index("#") :]).page
    assert words(other) == said
    assert knob(other, "policy").input_value() == "list-scheduling"
    assert knob(other, "links, Gbit/s").input_value() == "40"
    assert other.get_by_role("button", name="bandwidth in use").get_attribute("aria-pressed") == "true"
    assert shown_plan(other, tmp_path) == shown_plan(page, tmp_path)

    page.go_back()  # the job is there again
    page.get_by_role("button", name="Edit lstm").wait_for()
    page.go_back()  # the links are as they were
    gets(knob(page, "links, Gbit/s"), "10")
    page.go_back()  # and the policy
    gets(knob(page, "policy"), "sjf-bco")
    for _ in range(3):
        page.go_forward()
    page.get_by_role("button", name="Edit lstm").wait_for(state="detached")
    drawn(page)
    assert words(page) == said


def test_controls_are_there_as_soon_as_they_can_be_used(visiting: Visitor) -> None:
    """One that was used before the first scenario had come left the page without a plan for good."""
    page = visiting().page
    held: list[Any] = []
    page.route("**/examples/small", lambda route: held.append(route))
    with page.expect_request("**/examples/small"):
        page.reload()
    page.locator("#tools button").first.wait_for(state="attached")
    assert not knob(page, "policy").is_visible()
    held[0].continue_()
    choose(page, "policy", "random")
    assert words(page).startswith("All 6 jobs")
    assert knob(page, "policy").input_value() == "random"


# Ways to use a control without anything in between, not even a moment: what follows is of the same task.
AT_ONCE = """const named = (name) => (each) => (each.ariaLabel ?? each.textContent) === name;
const click = (name) => [...document.querySelectorAll("button")].find(named(name)).click();
const labels = [...document.querySelectorAll("label")];
const labelled = (label) => document.getElementById(labels.find(named(label)).htmlFor);
const set = (box, value) => {
  box.value = value;
  for (const kind of ["input", "change"]) box.dispatchEvent(new Event(kind, { bubbles: true }));
};
const type = (label, value) => set(labelled(label), value);
"""
PRESSED = "[...document.querySelectorAll('button')].find(named('bandwidth in use')).ariaPressed"
JOB_NAMES = "[...document.querySelectorAll('#jobs tbody th')].map((each) => each.textContent).join(' ')"
# What someone does, what the page says of it, and what that has to be.
CLICKS = {
    "servers": ("click('one server more'); click('one server more')", "labelled('servers').value", "6"),
    "speed": (
        "type('links, Gbit/s', '4'); type('links, Gbit/s', '40')",
        "labelled('links, Gbit/s').value",
        "40",
    ),
    "slider": ("set(document.querySelector('[type=range]'), 1)", "labelled('links, Gbit/s').value", "20"),
    "contention": ("type('contention', 'max-min')", "labelled('contention').value", "max-min"),
    "policy": ("type('policy', 'random'); type('policy', 'lwf')", "labelled('policy').value", "lwf"),
    "order": ("type('order', 'longest-first')", "labelled('order').value", "longest-first"),
    "kappa": ("type('kappa', '1'); type('kappa', '12')", "labelled('kappa').value", "12"),
    "compare": (
        "labelled('compare with another policy').click()",
        "String(labelled('compare with another policy').checked)",
        "true",
    ),
    "aim": ("type('aim', 'mean-completion')", "labelled('aim').value", "mean-completion"),
    "seconds": ("type('time limit, s', '3')", "labelled('time limit, s').value", "3"),
    "find": ("set(document.querySelector('#controls input'), 'ls')", JOB_NAMES, "lstm"),
    "picture": ("click('bandwidth in use')", PRESSED, "true"),
    "remove": (
        "click('Remove lstm'); click('Remove bert')",
        JOB_NAMES,
        "vgg gpt2 resnet-a resnet-b",
    ),
    "undo": (
        "click('Remove lstm'); click('one server more'); click('Undo')",
        f"`${{labelled('servers').value}} ${{{JOB_NAMES}}}`",
        "5 bert vgg gpt2 resnet-a resnet-b lstm",
    ),
}


@pytest.mark.parametrize("control", CLICKS)
def test_a_reload_right_after_a_click_keeps_what_it_did(visiting: Visitor, control: str) -> None:
    page = visiting().page
    act, said, expected = CLICKS[control]
    assert page.evaluate(f"() => {{ {AT_ONCE} return {said}; }}") != expected
    page.evaluate(f"() => {{ {AT_ONCE} window.isOld = true; {act}; location.reload(); }}")
    # A function: an expression is evaluated again and again, which the security policy of the page forbids.
    page.wait_for_function("() => !window.isOld")
    drawn(page)
    assert page.evaluate(f"() => {{ {AT_ONCE} return {said}; }}") == expected


# Keeps the address of the moment at which each plan is asked for, and lets none be answered.
ADDRESSES = """() => {
  window.addresses = [];
  window.fetch = (path) => {
    if (path.endsWith("/plan")) window.addresses.push(location.hash);
    return new Promise(() => {});
  };
}"""
READ = """async () => {
  const { stateOf } = await import("/assets/share.js");
  return Promise.all(window.addresses.map(stateOf));
}"""


def test_the_address_is_written_before_the_plan_is_asked_for(visiting: Visitor) -> None:
    page = visiting().page
    page.evaluate(ADDRESSES)
    for count in (1, 2):
        page.get_by_role("button", name="one server more").click()
        page.wait_for_function("count => window.addresses.length === count", arg=count)
    assert [state["network"]["servers"] for state in page.evaluate(READ)] == [5, 6]


COUNT_WRITES = """() => {
  window.writes = 0;
  for (const name of ["pushState", "replaceState"]) {
    const real = history[name].bind(history);
    history[name] = (...given) => { window.writes += 1; real(...given); };
  }
}"""
HAS_SERVERS = """async (count) => {
  const { stateOf } = await import("/assets/share.js");
  return (await stateOf(location.hash))?.network.servers === count;
}"""


def test_a_knob_that_is_turned_for_long_is_written_when_it_rests(visiting: Visitor) -> None:
    """Browsers stop taking addresses that come too fast: Safari after 100 in half a minute."""
    page = visiting().page
    page.evaluate(COUNT_WRITES)
    turning = "for (let count = 5; count < 305; count += 1) type('servers', String(count));"
    page.evaluate(f"() => {{ {AT_ONCE} {turning} }}")
    page.wait_for_function(HAS_SERVERS, arg=304)
    assert page.evaluate("window.writes") < 100
    page.go_back()  # all of it was one step
    gets(knob(page, "servers"), "4")


PACK = """async (given) => {
  const { deflated } = await import("/assets/deflate.js");
  const bytesOf = (letters) => Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  const pack = (part, at, parts) => deflated(bytesOf(part), at === parts.length - 1);
  const packed = given.map((parts) => parts.map(pack));
  return packed.map((parts) => btoa(parts.map((part) => String.fromCharCode(...part)).join("")));
}"""


def test_what_the_page_packs_is_deflate(visiting: Visitor) -> None:
    chance = random.Random(0)
    noise = chance.randbytes(33_000)
    given = [
        [b""],
        [b"", b""],
        [bytes(range(256))],
        [noise],
        *([bytes(length)] for length in (1, 2, 3, 4, 257, 258, 259, 260, 261, 520, 10_000)),
        *([noise[:length] + noise[:300]] for length in (1, 4, 5, 24_576, 32_767, 32_768, 32_769)),
        [b"one, two, one, two", b"", b"three, two, one"],
        *(
            [bytes(chance.choices(range(letters), k=chance.randrange(600))) for _ in range(2)]
            for letters in (1, 2, 3, 7, 40, 256)
            for _ in range(20)
        ),
    ]
    inside = [[base64.b64encode(part).decode() for part in parts] for parts in given]
    packed = visiting().page.evaluate(PACK, inside)
    assert [zlib.decompress(base64.b64decode(each), wbits=-15) for each in packed] == [
        b"".join(parts) for parts in given
    ]


def test_a_plan_that_comes_while_a_button_is_pressed_does_not_take_the_button_away(visiting: Visitor) -> None:
    page = visiting().page
    page.get_by_role("button", name="Remove lstm").hover()
    page.mouse.down()
    choosing = "box => { box.value = 'list-scheduling'; box.dispatchEvent(new Event('change')); }"
    knob(page, "policy").evaluate(choosing)  # by hand it would be scrolled to
    drawn(page)
    page.mouse.up()
    page.get_by_role("button", name="Edit lstm").wait_for(state="detached")


# Someone goes back, and chooses something as soon as the browser has gone there, or a little later.
BACK_AND_CHOOSE = """async ([policy, later]) => {
  const select = document.querySelector("#policies select");
  const gone = new Promise((resolve) => window.addEventListener("popstate", resolve, { once: true }));
  history.back();
  await gone;
  if (later) await fetch("/api/v1/about");
  select.value = policy;
  select.dispatchEvent(new Event("change"));
  for (let times = 0; times < 5; times += 1) await fetch("/api/v1/about"); // time for what may come too late
}"""


@pytest.mark.parametrize("later", [False, True])
def test_what_is_chosen_after_going_back_counts(visiting: Visitor, tmp_path: Path, later: bool) -> None:
    page = visiting().page
    choose(page, "example", "racks")
    page.get_by_role("button", name="Remove lstm").click()  # so that the way back asks the server
    drawn(page)
    choose(page, "policy", "first-fit")
    choose(page, "policy", "list-scheduling")
    page.evaluate(BACK_AND_CHOOSE, ["random", later])
    drawn(page)
    assert knob(page, "policy").input_value() == "random"
    scenario, plan = shown_plan(page, tmp_path)
    assert plan.policy == "random"
    assert plan == ringsched.plan(scenario, "random")
    page.reload()
    drawn(page)
    assert knob(page, "policy").input_value() == "random"


def test_an_example_that_comes_after_going_back_is_not_taken(visiting: Visitor) -> None:
    page = visiting().page
    example = knob(page, "example").input_value()
    choose(page, "policy", "list-scheduling")
    held: list[Any] = []
    page.route("**/examples/racks", lambda route: held.append(route))
    with page.expect_request("**/examples/racks"):
        knob(page, "example").select_option("racks")
    page.go_back()
    gets(knob(page, "policy"), "sjf-bco")
    drawn(page)
    with page.expect_response("**/examples/racks"):
        held[0].continue_()
    page.evaluate("fetch('/api/v1/about')")  # time for what may come too late
    drawn(page)
    assert knob(page, "example").input_value() == example
    assert words(page).startswith("All 6 jobs")


def test_a_text_that_is_cancelled_while_it_is_checked_is_not_taken(visiting: Visitor) -> None:
    page = visiting().page
    held: list[Any] = []
    page.route("**/api/v1/scenario", lambda route: held.append(route))
    page.get_by_role("button", name="As text").click()
    box = page.get_by_label("Scenario as text").locator("textarea")
    box.fill(box.input_value().replace('"lstm"', '"renamed"'))
    with page.expect_request("**/api/v1/scenario"):
        page.get_by_role("button", name="Load", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    with page.expect_response("**/api/v1/scenario"):
        held[0].continue_()
    page.evaluate("fetch('/api/v1/about')")  # time for what may come too late
    drawn(page)
    assert page.get_by_role("button", name="Edit lstm").count() == 1


def fragment_of(state: object) -> str:
    """What the page makes of a state: raw deflate, in the letters of addresses."""
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(json.dumps(state).encode()) + packer.flush()
    return "#s=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def test_an_address_from_anywhere_is_no_harm(visiting: Visitor) -> None:
    visit = visiting("#s=nonsense!")
    page = visit.page
    assert words(page).startswith("All 6 jobs")
    strange = {
        "scenario": {"jobs": 3},
        "sides": [{"policy": "lwf"}, 7],
        "network": [],
        "view": {"window": [5, 1]},
    }
    page.evaluate("fragment => { location.hash = fragment; }", fragment_of(strange))
    page.locator("#toast", has_text="is not valid").wait_for()
    drawn(page)
    assert words(page).startswith("All 6 jobs")
    page.evaluate(
        "fragment => { location.hash = fragment; }", fragment_of({"sides": [{"policy": "<b>nobody"}]})
    )
    page.locator(".wrong", has_text="unknown policy '<b>nobody'").wait_for()
    choose(page, "policy", "lwf")
    assert page.locator(".wrong:not(:empty)").count() == 0


def test_without_a_mouse(visiting: Visitor) -> None:
    page = visiting().page

    def tab_to(what: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("what => document.activeElement.matches(what)", what):
                assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
                return
        raise AssertionError(f"no way to {what}")

    said = words(page)
    tab_to("#policies select")
    page.keyboard.press("ArrowDown")  # sjf-bco -> first-fit
    drawn(page)
    assert words(page) != said
    tab_to("#controls button")
    page.keyboard.press("Enter")
    page.keyboard.type("typed")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Edit typed").wait_for()
    drawn(page)
    tab_to("[aria-label='Edit typed']")
    page.keyboard.press("Enter")
    page.keyboard.type("renamed")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Edit renamed").wait_for()
    drawn(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")  # "Remove renamed": the table keeps the keyboard
    page.get_by_role("button", name="Edit renamed").wait_for(state="detached")
    drawn(page)
    assert page.evaluate("document.activeElement.ariaLabel") == "Remove lstm"
    tab_to("svg.gantt")
    page.keyboard.press("End")
    assert page.locator("#tip").is_visible()
    page.keyboard.press("Escape")
    page.reload()
    drawn(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # "Skip to the plan"
    assert page.evaluate("document.activeElement.id") == "results"


def test_names_are_text_and_nothing_else(visiting: Visitor) -> None:
    page = visiting().page
    scenario = hostile()
    load(page, scenario)
    assert page.locator(JOBS).count() == len(HOSTILE_NAMES)
    page.get_by_label("compare with another policy").check()
    page.locator("svg.gantt").nth(1).wait_for()
    page.get_by_role("button", name="Edit").nth(2).click()
    assert page.get_by_role("dialog").get_by_label("name", exact=True).input_value() == HOSTILE_NAMES[2]
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Remove").nth(0).click()
    page.locator("#toast", has_text="<script>").wait_for()
    drawn(page)
    assert page.evaluate("window.hacked") is None
    assert page.locator("body img, body b, body script").count() == 0
    assert SCRIPT[:20] in page.locator("#about").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_wrong_files_and_texts_leave_all_as_it_was(visiting: Visitor) -> None:
    page = visiting().page
    said = words(page)
    for name, content, sentence in (
        ("a.toml", b"[cluster", "TOML"),
        ("b.json", b'{"cluster": 3}', "cluster"),
        ("c.png", b"\x89PNG\xff\xfe", "UTF-8"),
        ("d.json", b'{"jobs_file": "/etc/passwd"}', "jobs_file"),
    ):
        page.set_input_files("input[type=file]", {"name": name, "mimeType": "x/y", "buffer": content})
        page.locator("#scenario .wrong", has_text=sentence).wait_for()
    page.get_by_role("button", name="As text").click()
    page.get_by_label("Scenario as text").last.fill('name = "x"')
    page.get_by_role("button", name="Load", exact=True).click()
    page.locator("dialog .wrong", has_text="cluster").wait_for()
    page.get_by_role("button", name="Cancel").last.click()
    assert words(page) == said
    choose(page, "example", "racks")
    assert page.locator("#scenario .wrong").inner_text() == ""


def test_a_policy_that_cannot_says_why_where_it_is_chosen(visiting: Visitor) -> None:
    page = visiting().page
    choose(page, "contention", "max-min")
    choose(page, "policy", "adaptive-overlap")
    assert "max-min" in page.locator(".wrong:not(:empty)").inner_text()
    choose(page, "policy", "sjf-bco")
    assert page.locator(".wrong:not(:empty)").count() == 0
    knob(page, "kappa").fill("many")
    drawn(page)
    assert "kappa must be an integer" in page.locator(".side").nth(0).inner_text()
    knob(page, "kappa").fill("1")
    drawn(page)
    assert page.locator(".wrong:not(:empty)").count() == 0


def test_what_is_wrong_is_said_in_the_words_of_the_page(visiting: Visitor) -> None:
    page = visiting().page
    knob(page, "lambda").fill("0")
    drawn(page)
    assert page.locator(".side .wrong:not(:empty)").inner_text() == "lambda must be a number >= 1, not 0.0"
    knob(page, "lambda").fill("")
    knob(page, "time limit, s").fill("-1")
    knob(page, "time limit, s").blur()
    choose(page, "policy", "search")
    wrong = page.locator("#policies .wrong:not(:empty)").inner_text()
    assert wrong == "the time limit must be a number >= 0, not -1.0"
    choose(page, "policy", "adaptive-overlap")
    choose(page, "contention", "max-min")
    assert page.locator("#network .wrong:not(:empty)").inner_text() == (
        "contention 'max-min' is not supported by policy 'adaptive-overlap'; "
        "use paper or reserved, or another policy"
    )
    page.get_by_role("button", name="Edit bert").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("forward, ms").fill("0")
    dialog.get_by_label("backward, ms").fill("0")
    dialog.get_by_role("button", name="Save").click()
    dialog.locator(".wrong:not(:empty)").wait_for()
    said = dialog.locator(".wrong:not(:empty)").inner_text()
    assert "forward" in said
    assert "_ms" not in said


def test_no_jobs_at_all(visiting: Visitor) -> None:
    page = visiting().page
    load(page, ringsched.load_scenario(Path("examples/first.toml")).replace(jobs=()))
    assert "no jobs" in words(page)
    assert "There are no jobs yet" in page.locator("#jobs").inner_text()
    page.get_by_role("button", name="Add job").click()
    page.get_by_role("button", name="Save").click()
    page.locator(JOBS).wait_for()
    best = "No plan can end sooner, so it is optimal."
    assert re.fullmatch(rf"The only job ends after [^.]+\. {best}", words(page))


def test_only_the_newest_wish_counts(visiting: Visitor) -> None:
    page = visiting().page
    held = []

    def hold(route: Any) -> None:
        held.append(route) if route.request.post_data_json["policy"] == "first-fit" else route.continue_()

    page.route("**/api/v1/plan", hold)
    knob(page, "policy").select_option("first-fit")
    page.locator("body.working").wait_for()
    while not held:
        page.wait_for_timeout(10)
    assert page.locator(JOBS).count() == 6  # the old picture stays
    choose(page, "policy", "random")
    said = words(page)
    assert len(held) == 1
    with suppress(Exception):  # what was called off cannot go on
        held[0].continue_()
    page.evaluate("fetch('/api/v1/about')")  # time for what may come too late
    drawn(page)
    assert words(page) == said


def test_a_server_that_goes_and_comes_back(visiting: Visitor) -> None:
    visit = visiting()
    page = visit.page
    page.route("**/api/**", lambda route: route.abort())
    knob(page, "policy").select_option("first-fit")
    page.locator("#banner", has_text="does not respond").wait_for()
    assert page.locator(JOBS).count() == 6
    said = words(page)
    page.unroute("**/api/**")
    page.locator("#banner").wait_for(state="hidden")
    drawn(page)
    assert words(page) != said
    assert all("ERR_FAILED" in each for each in visit.complaints)
    visit.complaints.clear()


def test_a_token_is_sent_and_kept_out_of_the_address(visiting: Visitor) -> None:
    sent = []
    page = visiting().page
    page.on("request", lambda request: sent.append(request.headers.get("authorization")))
    page.evaluate("location.hash = 'token=secret-of-the-server'")
    page.reload()
    drawn(page)
    assert "Bearer secret-of-the-server" in sent
    assert "secret" not in page.url


TOKEN = "secret-of-the-server"


def lock(page: Any) -> None:
    """Let the server want a token from now on."""

    def check(route: Any) -> None:
        right = route.request.headers.get("authorization") == f"Bearer {TOKEN}"
        route.continue_() if right else route.fulfill(status=401, json={"error": {"message": "no"}})

    page.route("**/api/**", check)


def give_token(page: Any, text: str) -> None:
    page.locator("#banner").get_by_label("token").fill(text)
    page.get_by_role("button", name="Continue").click()


def test_a_shared_link_is_shown_as_soon_as_the_token_is_given(visiting: Visitor) -> None:
    page = visiting(fragment_of({"example": "racks", "sides": [{"policy": "random"}]})).page
    said, shared = words(page), page.url
    lock(page)
    page.reload()
    page.locator("#banner", has_text="requires a token").wait_for()
    give_token(page, "wröng")
    page.locator("#banner", has_text="token is not valid").wait_for()
    assert page.url == shared
    give_token(page, f"http://127.0.0.1:8470/#token={TOKEN}")  # as `ringsched serve` prints it
    drawn(page)
    assert words(page) == said
    assert knob(page, "example").input_value() == "racks"
    assert not page.locator("#banner").is_visible()
    assert "secret" not in page.url

    page.evaluate("sessionStorage.clear()")
    page.reload()
    page.locator("#banner", has_text="requires a token").wait_for()
    page.evaluate(f"location.hash = 'token={TOKEN}'")  # what was shared is not forgotten for that
    drawn(page)
    assert words(page) == said
    assert "secret" not in page.url


def test_a_server_that_comes_back_with_another_token(visiting: Visitor) -> None:
    page = visiting().page
    lock(page)
    knob(page, "policy").select_option("first-fit")
    page.locator("#banner", has_text="requires a token").wait_for()
    assert page.locator(JOBS).count() == 6
    give_token(page, TOKEN)
    page.locator("#banner").wait_for(state="hidden")
    page.locator("body:not(.stale)").wait_for()
    assert knob(page, "policy").input_value() == "first-fit"
    choose(page, "example", "racks")
    assert page.locator(JOBS).count() == 12


@pytest.mark.parametrize("width", [390, 900])
def test_nothing_is_wider_than_the_window(visiting: Visitor, width: int) -> None:
    page = visiting(width=width).page
    choose(page, "example", "paper")
    page.get_by_label("compare with another policy").check()
    page.locator("svg.gantt").nth(1).wait_for()
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("width", [390, 768])
def test_a_knob_and_what_it_does_are_seen_together(visiting: Visitor, width: int) -> None:
    page = visiting(width=width).page
    choose(page, "example", "racks")
    for label in ("policy", "servers", "contention"):
        knob(page, label).focus()
        boxes = [each.bounding_box() for each in (knob(page, label), page.locator("#words"))]
        assert all(box["y"] >= 0 and box["y"] + box["height"] <= 900 for box in boxes)
        low, high = sorted(boxes, key=lambda box: box["y"])
        assert low["y"] + low["height"] <= high["y"]  # neither hides the other


def test_light_and_dark(visiting: Visitor) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light = visiting(color_scheme="light").page.evaluate(background)
    page = visiting(color_scheme="dark").page
    assert page.evaluate(background) != light
    page.get_by_role("button", name="Switch to light colours").click()
    assert page.evaluate(background) == light


@pytest.mark.slow
def test_two_thousand_jobs(visiting: Visitor) -> None:
    page = visiting().page
    choose(page, "policy", "longest-first")
    choose(page, "example", "large")
    assert page.locator(JOBS).count() == 2000
    assert page.locator("#jobs tbody tr").count() == 100
    page.get_by_role("button", name="Show all 2000 jobs").click()
    assert page.locator("#jobs tbody tr").count() == 2000
