// All pictures of several plans, used by the report and the lab.

import { drawBlame } from "./blame.js";
import { ALL, modeSwitch } from "./controls.js";
import { drawCurves } from "./curves.js";
import { html } from "./dom.js";
import { drawGantt } from "./gantt.js";
import { levelLegend, sizeLegend } from "./legends.js";
import { drawLinks } from "./link_map.js";
import { drawSummary } from "./summary.js";
import { shortened } from "./text.js";

/**
 * Draw everything that `data` has into the elements `parts`: `summary`, `curves`, `gantt`, `links`, `blame`.
 *
 * `state` holds the plan `shown` or ALL, the time range `window`, the colouring of links `mode`, and the
 * part of a name to `find`; `onWindow` gets a selected time range, `onMode` another mode.
 */
export function drawPictures(parts, data, state, onWindow, onMode = () => drawPictures(parts, data, state, onWindow)) {
  const focused = [...document.querySelectorAll("svg.picture")].indexOf(document.activeElement);
  document.querySelector("button.whole").hidden = state.window === null;
  drawSummary(parts.summary, data);
  drawCurves(parts.curves, data);
  const plans = data.plans.filter((_, at) => state.shown === ALL || state.shown === at);
  const shared = { window: state.window, onWindow, find: state.find, mode: state.mode };
  fill(parts.gantt, plans, data.numJobs ? [sizeLegend(data)] : [], (element, plan) => {
    if (plan.gantt.job.length) drawGantt(element, { ...data, ...plan }, shared);
    else element.replaceChildren(note("The plan has no jobs."));
  });
  const mode = modeSwitch(state, onMode);
  const linked = plans.some((plan) => plan.links && plan.links.length);
  fill(parts.links, plans, linked ? [mode, levelLegend(data.levels[state.mode])] : [], (element, plan) => {
    if (!plan.links) element.replaceChildren(note(`Not shown: ${shortened(plan.whyNot, 200)}.`));
    else if (!plan.links.length) element.replaceChildren(note("No job spans several servers, so no link is used."));
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

/** Redraw when the width of the page changes. */
export function followWidth(root, redraw) {
  let width = root.clientWidth;
  new ResizeObserver(() => {
    if (root.clientWidth === width) return;
    width = root.clientWidth;
    redraw();
  }).observe(root);
}
