// The report: reads its data, lays out the page, and redraws the pictures after every change.

import { ALL, controls } from "./controls.js";
import { html } from "./dom.js";
import { curveLegend } from "./legends.js";
import { drawPictures, followWidth } from "./pictures.js";
import { counted, figure, shortened } from "./text.js";
import { themeButton } from "./theme.js";
import { within } from "./window.js";

function start() {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const state = { shown: 0, window: null, mode: "jobs", find: "" };
  const root = document.getElementById("report");
  const parts = layOut(root, data);
  const redraw = () => drawPictures(parts, data, state, choose);
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
  const parts = { summary, curves, controls: bar, gantt: section("gantt", "Schedule") };
  parts.links = section("links", "Jobs on every link");
  parts.blame = section("blame", "Who slows whom");
  root.append(html("footer", {}, `Made by ringsched ${data.version}. Drag over a picture to zoom in on a time range; double-click to zoom out.`));
  return parts;
}

function oneChoice(data) {
  if (data.plans.length !== 1) return "";
  const { policy, choices } = data.plans[0].summary;
  return ` · policy ${shortened(policy)}${choices ? ` (${shortened(choices, 100)})` : ""}`;
}

/** Print all plans at the width of the page, so that their text has the usual size. */
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
