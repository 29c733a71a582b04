// The report: reads its data, lays out the page, and draws every picture again when something changes.

import { drawBlame } from "./blame.js";
import { drawCurves } from "./curves.js";
import { html } from "./dom.js";
import { drawGantt } from "./gantt.js";
import { curveLegend, levelLegend, sizeLegend } from "./legends.js";
import { drawLinks, levelsOf } from "./link_map.js";
import { drawSummary, swatch } from "./summary.js";
import { counted, figure, shortened } from "./text.js";
import { themeButton } from "./theme.js";
import { within } from "./window.js";

const ALL = -1;

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

function controls(data, state, redraw, choose) {
  const items = [];
  if (data.plans.length > 1) items.push(planSwitch(data, state, redraw));
  const find = html("input", { type: "search", placeholder: "find a job", "aria-label": "Find a job by its name" });
  find.addEventListener("input", () => {
    state.find = find.value;
    redraw();
  });
  const whole = html("button", { type: "button", class: "whole" }, "whole time");
  whole.addEventListener("click", () => choose(null));
  items.push(find, whole);
  return items;
}

function planSwitch(data, state, redraw) {
  const group = html("div", { class: "switch", role: "group", "aria-label": "Plan to show" });
  const entries = [...data.plans.map((plan, at) => [at, plan.label]), [ALL, "all"]];
  const buttons = entries.map(([at, label]) => {
    const button = html("button", { type: "button", "aria-pressed": at === state.shown });
    if (at !== ALL) button.append(swatch(data.planColours, at), " ");
    button.append(shortened(label, 28));
    button.addEventListener("click", () => {
      state.shown = at;
      buttons.forEach((each, place) => each.setAttribute("aria-pressed", entries[place][0] === at));
      redraw();
    });
    return button;
  });
  group.append(...buttons);
  return group;
}

/** Draw everything; each picture gets an element of its own and can be drawn again by itself. */
function drawAll(parts, data, state, onWindow) {
  document.querySelector("button.whole").hidden = state.window === null;
  drawSummary(parts.summary, data);
  drawCurves(parts.curves, data);
  const plans = data.plans.filter((_, at) => state.shown === ALL || state.shown === at);
  const shared = { window: state.window, onWindow, find: state.find, mode: state.mode };
  const levels = levelsOf(plans.flatMap((plan) => plan.links || []), state.mode);
  fill(parts.gantt, plans, [sizeLegend(data)], (element, plan) => {
    if (plan.gantt.job.length) drawGantt(element, { ...data, ...plan }, shared);
    else element.replaceChildren(note("The plan is empty: there is nothing to run."));
  });
  const mode = modeSwitch(state, () => drawAll(parts, data, state, onWindow));
  fill(parts.links, plans, [mode, levelLegend(levels)], (element, plan) => {
    if (!plan.links) element.replaceChildren(note(NOT_AS_STATED));
    else if (!plan.links.length) element.replaceChildren(note("No job spans servers, so no link is used."));
    else drawLinks(element, { ...data, ...plan }, { ...shared, levels });
  });
  fill(parts.blame, plans, [], (element, plan) => {
    if (plan.blame) drawBlame(element, { ...data, ...plan });
    else element.replaceChildren(note(NOT_AS_STATED));
  });
}

const NOT_AS_STATED = "Not shown: the plan is not valid, and what it states would not happen.";

function note(text) {
  return html("p", { class: "note" }, text);
}

function fill(body, plans, legends, draw) {
  const elements = plans.map((plan) => {
    const picture = html("div", { class: "canvas" });
    const title = plans.length > 1 ? [html("h3", {}, shortened(plan.label))] : [];
    return { box: html("div", {}, ...title, picture), picture, plan };
  });
  body.replaceChildren(...legends, ...elements.map((each) => each.box));
  elements.forEach(({ picture, plan }) => draw(picture, plan));
}

function modeSwitch(state, redraw) {
  const group = html("div", { class: "switch small", role: "group", "aria-label": "What the colours of links say" });
  for (const [mode, label] of [["jobs", "number of jobs"], ["load", "bandwidth in use"]]) {
    const button = html("button", { type: "button", "aria-pressed": state.mode === mode }, label);
    button.addEventListener("click", () => {
      state.mode = mode;
      redraw();
      document.querySelector(`#links .switch button[aria-pressed="true"]`).focus();
    });
    group.append(button);
  }
  return group;
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

start();
