"""The report in a real browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.integration.browser.conftest import Opener, Visit
from tests.reports import HOSTILE_NAMES, SCRIPT, contended, empty, first, hostile, invalid
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched.reporting import assets
from ringsched.reporting.data import report_data
from ringsched.reporting.report import embedded

pytestmark = pytest.mark.compiled

JOBS = "svg.gantt path.job"


def tip(visit: Visit) -> str:
    return visit.page.locator("#tip").inner_text() if visit.page.locator("#tip").is_visible() else ""


def overflow(visit: Visit) -> int:
    """By how many pixels the page is wider than the window."""
    return visit.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("make", [first, contended, hostile])
def test_every_job_is_drawn_and_nothing_is_wider_than_the_window(
    opened: Opener, make: Any, width: int
) -> None:
    problem = make()
    plans = [ringsched.plan(problem, "list-scheduling"), ringsched.plan(problem, "longest-first")]
    visit = opened(problem, plans, width=width)
    assert visit.page.locator(JOBS).count() == len(problem.jobs)
    assert all(
        d for d in visit.page.locator(JOBS).evaluate_all("all => all.map(one => one.getAttribute('d'))")
    )
    assert overflow(visit) <= 0


def test_tooltip_says_what_the_job_is(opened: Opener) -> None:
    problem = first()
    plan = ringsched.plan(problem, "first-fit")
    visit = opened(problem, plan)
    assert tip(visit) == ""
    visit.page.locator(JOBS).nth(1).hover(position={"x": 40, "y": 10})
    said = tip(visit)
    for part in (
        "gpt2-finetune",
        "8 on node-1:4-7 node-2:0-3",
        "0 s to 1 h 20 min, for 1 h 20 min",
        "slowed by contention",
        "11 min 51 s",
    ):
        assert part in said
    visit.page.locator("h1").hover()
    assert tip(visit) == ""


def test_keys_lead_from_job_to_job(opened: Opener) -> None:
    problem = first()
    visit = opened(problem, ringsched.plan(problem, "first-fit"))
    for _ in range(20):
        visit.page.keyboard.press("Tab")
        if visit.page.evaluate("document.activeElement.classList.contains('gantt')"):
            break
    assert visit.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    visit.page.keyboard.press("ArrowRight")
    assert "bert-pretrain" in tip(visit)
    visit.page.keyboard.press("ArrowRight")
    assert "gpt2-finetune" in tip(visit)
    visit.page.keyboard.press("End")
    assert "probe-2" in tip(visit)
    visit.page.keyboard.press("+")  # a shorter stretch of time; the chart keeps the keyboard
    assert visit.page.evaluate("document.activeElement.classList.contains('gantt')")
    visit.page.keyboard.press("Escape")
    assert tip(visit) == ""


def test_links_and_curves_answer_to_mouse_and_keys(opened: Opener) -> None:
    problem = contended()
    visit = opened(problem, ringsched.plan(problem, "list-scheduling"))
    visit.page.locator("svg.links").focus()
    visit.page.keyboard.press("ArrowDown")
    assert "uplink of left-0" in tip(visit)
    visit.page.keyboard.press("ArrowRight")
    assert "Gbit/s" in tip(visit)
    visit.page.locator("svg.curves").hover()
    assert "upper bound" in tip(visit)
    visit.page.locator("svg.curves").focus()
    visit.page.keyboard.press("ArrowRight")
    assert "done by" in tip(visit)


def test_light_and_dark(opened: Opener) -> None:
    problem = first()
    plan = ringsched.plan(problem, "first-fit")
    background = "getComputedStyle(document.body).backgroundColor"
    by_scheme = {}
    for scheme in ("light", "dark"):
        visit = opened(problem, plan, color_scheme=scheme)
        by_scheme[scheme] = visit.page.evaluate(background)
    assert by_scheme["light"] != by_scheme["dark"]
    visit.page.get_by_role("button", name="Switch to light colours").click()
    assert visit.page.evaluate(background) == by_scheme["light"]
    visit.page.get_by_role("button", name="Switch to dark colours").click()
    assert visit.page.evaluate(background) == by_scheme["dark"]


def test_paper_is_white_and_has_all_plans(opened: Opener, tmp_path: Path) -> None:
    problem = first()
    plans = [ringsched.plan(problem, "first-fit"), ringsched.plan(problem, "sjf-bco")]
    visit = opened(problem, plans, color_scheme="dark")
    count = "window.drawn = document.querySelectorAll('svg.gantt').length"
    visit.page.evaluate(f"window.addEventListener('beforeprint', () => {{ {count}; }})")
    assert visit.page.pdf(path=tmp_path / "report.pdf")
    assert visit.page.evaluate("window.drawn") == 2
    assert visit.page.locator("svg.gantt").count() == 1  # as before
    visit.page.emulate_media(media="print")
    assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not visit.page.locator(".controls").is_visible()


def three_plans() -> tuple[ringsched.Scenario, dict[str, ringsched.Plan]]:
    """Tables as wide as they get: long names, large numbers, twelve culprits."""
    cluster = ringsched.Cluster.of_servers(12, switches=3)
    problem = ringsched.generate(ringsched.Workload.uniform(jobs=60, cluster=cluster), seed=2)
    policies = ("random", "list-scheduling", "longest-first")
    return problem, {f"tonight by {policy}": ringsched.plan(problem, policy) for policy in policies}


CUT = "[...document.querySelectorAll('.scrolls')].map((each) => each.scrollWidth - each.clientWidth)"


@pytest.mark.parametrize("width", [1000, 1170, 1280])
def test_tables_are_seen_whole(opened: Opener, width: int) -> None:
    visit = opened(*three_plans(), width=width)
    assert set(visit.page.evaluate(CUT)) == {0}
    # Nor does a table scroll within the page.
    lower = "document.querySelector('#blame .canvas')"
    assert visit.page.evaluate(f"{lower}.scrollHeight - {lower}.clientHeight") == 0


def test_tables_are_whole_on_paper(opened: Opener) -> None:
    visit = opened(*three_plans(), width=800)
    assert max(visit.page.evaluate(CUT)) > 0  # the screen can be scrolled
    visit.page.evaluate(f"window.addEventListener('beforeprint', () => {{ window.cut = {CUT}; }})")
    visit.page.pdf(format="A4")
    assert set(visit.page.evaluate("window.cut")) == {0}


def test_hatching_is_one_path_a_size(opened: Opener) -> None:
    """A path each made a printed report of 2,000 jobs larger than half a gigabyte."""
    problem, plans = three_plans()
    visit = opened(problem, plans["tonight by random"])
    sizes = {job.gpus for job in problem.jobs}
    assert 0 < visit.page.locator("svg.gantt .slowed path").count() <= len(sizes)
    assert len(visit.page.pdf()) < 1_000_000


def test_names_are_text_and_nothing_else(opened: Opener) -> None:
    problem = hostile()
    plans = {SCRIPT: ringsched.plan(problem, "list-scheduling"), "x" * 999: ringsched.plan(problem, "random")}
    visit = opened(problem, plans)
    assert visit.page.evaluate("window.hacked") is None
    assert SCRIPT in visit.page.locator("h1").inner_text()
    assert visit.page.locator("main script, main img, main b").count() == 0
    for at, name in enumerate(HOSTILE_NAMES):
        visit.page.locator("svg.gantt").focus()
        visit.page.keyboard.press("Home")
        for _ in range(at):
            visit.page.keyboard.press("ArrowRight")
        assert any(tip(visit).startswith(each[:50]) for each in HOSTILE_NAMES), name
        assert len(tip(visit)) < 800


def test_no_script_but_our_own_runs(opened: Opener) -> None:
    problem = first()
    visit = opened(problem, ringsched.plan(problem, "first-fit"))
    added = "Object.assign(document.createElement('script'), {textContent: 'window.hacked = 1'})"
    visit.page.evaluate(f"document.body.append({added})")
    assert visit.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in each for each in visit.complaints)
    visit.complaints.clear()


def test_a_stretch_of_time_and_back(opened: Opener) -> None:
    problem = first()
    visit = opened(problem, ringsched.plan(problem, "first-fit"))
    page = visit.page
    axis = "svg.gantt .axis text"
    whole = page.locator(axis).all_inner_texts()
    box = page.locator("svg.gantt").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 120)
    page.mouse.up()
    assert page.locator(axis).all_inner_texts() != whole
    page.get_by_role("button", name="zoom out").click()
    assert page.locator(axis).all_inner_texts() == whole


def test_find_and_switches(opened: Opener) -> None:
    problem = first()
    plans = [ringsched.plan(problem, "first-fit"), ringsched.plan(problem, "sjf-bco")]
    page = opened(problem, plans).page
    page.get_by_label("Find a job by its name").fill("VGG")
    assert page.locator(f"{JOBS}:not(.faded)").count() == 3
    page.get_by_role("button", name="all").click()
    assert page.locator("svg.gantt").count() == 2
    page.get_by_role("button", name="sjf-bco").click()
    assert page.locator("svg.gantt").count() == 1
    page.get_by_role("button", name="bandwidth in use").click()
    assert "up to 20 %" in page.locator("#links .legend").inner_text()


def test_empty_plan_and_one_job(opened: Opener) -> None:
    nothing = ringsched.plan(empty())
    assert "no jobs" in opened(empty(), nothing).page.locator("#gantt").inner_text()
    compared = opened(empty(), {"one": nothing, "other": nothing}).page.locator("#summary .note")
    assert compared.inner_text() == "lower bound 0 s"  # and no reason
    one = scenario(cluster(1), job("only"))
    assert opened(one, ringsched.plan(one)).page.locator(JOBS).count() == 1


def test_an_invalid_plan_says_so(opened: Opener) -> None:
    problem = first()
    good = ringsched.plan(problem, "first-fit")
    page = opened(problem, {"broken": invalid(good), "good": good}).page
    said = page.get_by_role("alert").inner_text()
    assert "Plan broken is not valid" in said
    assert "'nowhere', which is not in the cluster" in said
    assert "Not shown" in page.locator("#blame").inner_text()
    page.get_by_role("button", name="good").click()
    assert "Not shown" not in page.locator("#blame").inner_text()


def test_two_thousand_jobs_are_all_drawn(opened: Opener) -> None:
    cluster = ringsched.Cluster.of_servers(250, switches=10)
    problem = ringsched.generate(ringsched.Workload.uniform(jobs=2000, cluster=cluster))
    visit = opened(problem, ringsched.plan(problem, "longest-first"))
    assert visit.page.locator(JOBS).count() == 2000
    assert overflow(visit) <= 0


@pytest.fixture
def served() -> Iterator[str]:
    """The modules as a web server hands them out."""
    folder = str(Path(assets.__file__).parent)
    handler = partial(_Quiet, directory=folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


DRAW_TWICE = """async (text) => {
  const data = JSON.parse(text);
  const { drawGantt } = await import("/gantt.js");
  const { drawLinks } = await import("/link_map.js");
  const drawn = [];
  for (const plan of data.plans) {
    drawGantt(document.body, { ...data, ...plan });
    const paths = [...document.querySelectorAll("path.job")].map((path) => path.getAttribute("d")).join();
    drawLinks(document.body, { ...data, ...plan });
    drawn.push([document.querySelectorAll("svg").length, paths]);
  }
  return drawn;
}"""


def test_a_page_can_draw_again_with_new_data(browser: Any, served: str) -> None:
    problem = contended()
    data = report_data(problem, {name: ringsched.plan(problem, name) for name in ("first-fit", "random")})
    page = browser.new_page()
    page.goto(f"{served}/report.css")
    (first_count, before), (second_count, after) = page.evaluate(DRAW_TWICE, embedded(data))
    assert (first_count, second_count) == (1, 1)
    assert before
    assert after
    assert before != after
    page.close()
