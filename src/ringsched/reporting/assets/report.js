// The report: reads its data, lays out the page, and draws every picture again when something changes.

import { drawBlame } from "./blame.js";
import { ALL, controls, modeSwitch } from "./controls.js";
import { drawCurves } from "./curves.js";
import { html } from "./dom.js";
import { drawGantt } from "./gantt.js";
import { curveLegend, levelLegend, sizeLegend } from "./legends.js";
import { drawLinks } from "./link_map.js";
import { drawSummary } from "./summary.js";
import { counted, figure, shortened } from "./text.js";
import { themeButton } from "./theme.js";
import { within } from "./window.js";

function start() {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const state = { shown: 0, window: null, mode: "jobs", find: "" };
  const root = document.getElementById("report");
  const parts = layOut(root, data);
  const redraw = () => drawAll(parts, data, state, choose);
  const choose = (stretch) => {
    state.window = within(stretch, data.span);
    redraw();
  };
  parts.controls.append(...controls(data, state, redraw, choose));
  redraw();
  followWidth(root, redraw);
  followPrinting(state, redraw);
  document.documentElement.dataset.ready = "yes"; // for tests: everything is drawn
}

function layOut(root, data) {
  const section = (id, title) => {
    const body = html("div", { class: "body" });
    root.append(html("section", { id, "aria-label": title }, html("h2", {}, title), body));
    return body;
  };
  const about = `${counted(data.numJobs, "job")} on ${counted(data.numServers, "server")} with ${counted(data.numGpus, "GPU")}`;
  const origin = data.origin ? ` · times count from ${figure(data.origin)} s` : "";
  root.append(html(
    "header", {},
    html("div", {}, html("h1", { title: shortened(data.name, 300) }, shortened(data.name, 90)), html("p", {}, `${about}${origin}${oneChoice(data)}`)),
    themeButton(),
  ));
  const overview = html("div", { class: data.plans.length > 1 ? "overview several" : "overview" });
  root.append(html("section", { id: "summary", "aria-label": "Summary" }, overview));
  const [summary, curves] = [html("div", { class: "body" }), html("div", { class: "body" })];
  const curvesBox = html("div", { class: "box" }, html("h2", {}, "Jobs done over time"), curveLegend(data), curves);
  overview.append(html("div", { class: "box" }, html("h2", {}, data.plans.length > 1 ? "Comparison" : "Summary"), summary), curvesBox);
  const bar = html("div", { class: "controls" });
  root.append(bar);
  const parts = { summary, curves, controls: bar, gantt: section("gantt", "Who runs where and when") };
  parts.links = section("links", "Jobs on every link");
  parts.blame = section("blame", "Who slows whom");
  root.append(html("footer", {}, `Made by ringsched ${data.version}. Drag over a picture to see a stretch of time, double-click for all of it.`));
  return parts;
}

function oneChoice(data) {
  if (data.plans.length !== 1) return "";
  const { policy, choices } = data.plans[0].summary;
  return ` · policy ${shortened(policy)}${choices ? ` (${shortened(choices, 100)})` : ""}`;
}

/** Draw everything; each picture gets an element of its own and can be drawn again by itself. */
function drawAll(parts, data, state, onWindow) {
  const focused = [...document.querySelectorAll("svg.picture")].indexOf(document.activeElement);
  document.querySelector("button.whole").hidden = state.window === null;
  drawSummary(parts.summary, data);
  drawCurves(parts.curves, data);
  const plans = data.plans.filter((_, at) => state.shown === ALL || state.shown === at);
  const shared = { window: state.window, onWindow, find: state.find, mode: state.mode };
  fill(parts.gantt, plans, data.numJobs ? [sizeLegend(data)] : [], (element, plan) => {
    if (plan.gantt.job.length) drawGantt(element, { ...data, ...plan }, shared);
    else element.replaceChildren(note("The plan is empty: there is nothing to run."));
  });
  const mode = modeSwitch(state, () => drawAll(parts, data, state, onWindow));
  const linked = plans.some((plan) => plan.links && plan.links.length);
  fill(parts.links, plans, linked ? [mode, levelLegend(data.levels[state.mode])] : [], (element, plan) => {
    if (!plan.links) element.replaceChildren(note(`Not shown: ${shortened(plan.whyNot, 200)}.`));
    else if (!plan.links.length) element.replaceChildren(note("No job spans servers, so no link is used."));
    else drawLinks(element, { ...data, ...plan }, shared);
  });
  fill(parts.blame, plans, [], (element, plan) => {
    if (plan.blame) drawBlame(element, { ...data, ...plan });
    else element.replaceChildren(note(`Not shown: ${shortened(plan.whyNot, 200)}.`));
  });
  if (focused >= 0) document.querySelectorAll("svg.picture")[focused]?.focus();
}

function note(text) {
  return html("p", { class: "note" }, text);
}

function fill(body, plans, legends, draw) {
  const elements = plans.map((plan) => {
    const picture = html("div", { class: "canvas" });
    const title = plans.length > 1 ? [html("h3", {}, shortened(plan.label))] : [];
    return { box: html("div", {}, ...title, picture), picture, plan };
  });
  const scrolled = [...body.querySelectorAll(".canvas")].map((each) => each.scrollTop);
  body.replaceChildren(...legends, ...elements.map((each) => each.box));
  elements.forEach(({ picture, plan }, at) => {
    draw(picture, plan);
    picture.scrollTop = scrolled[at] || 0;
  });
}

/** Draw again whenever the page gets wider or narrower. */
function followWidth(root, redraw) {
  let width = root.clientWidth;
  new ResizeObserver(() => {
    if (root.clientWidth === width) return;
    width = root.clientWidth;
    redraw();
  }).observe(root);
}

/** Paper gets all plans, drawn in its own width, so that letters are as large as those around them. */
function followPrinting(state, redraw) {
  const before = { ...state };
  window.addEventListener("beforeprint", () => {
    Object.assign(before, state);
    Object.assign(state, { shown: ALL });
    document.documentElement.dataset.print = "yes";
    redraw();
  });
  window.addEventListener("afterprint", () => {
    Object.assign(state, before);
    delete document.documentElement.dataset.print;
    redraw();
  });
}

start();
