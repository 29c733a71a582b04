// The legends.

import { html, svg } from "./dom.js";
import { swatch } from "./summary.js";
import { shortened } from "./text.js";

function entry(mark, text) {
  return html("span", { class: "entry" }, mark, ` ${text}`);
}

function box({ light, dark }) {
  const mark = html("i", { class: "box-mark" });
  mark.style.background = `light-dark(${light}, ${dark})`;
  return mark;
}

/** Return the legend of the Gantt chart: sizes, contention, and the two ends. */
export function sizeLegend(data) {
  const sizes = data.sizes.map((size) => entry(box(size), size.name));
  const line = (name) => svg("svg", { class: "line-mark", width: 14, height: 14, "aria-hidden": "true" }, svg("line", { class: `end ${name}`, x1: 7, x2: 7, y1: 0, y2: 14 }));
  return html(
    "div", { class: "legend" },
    html("span", { class: "title" }, "GPUs of the job:"), ...sizes,
    entry(html("i", { class: "box-mark hatched" }), "slowed by contention"),
    entry(line("makespan"), "end"),
    entry(line("bound"), "lower bound"),
  );
}

/** Return the legend of the link map. */
export function levelLegend(levels) {
  return html("div", { class: "legend" }, ...levels.map((level) => entry(box(level), level.name)));
}

/** Return the legend of the curves. */
export function curveLegend(data) {
  const plans = data.plans.map((plan, at) => entry(swatch(data.planColours, at), shortened(plan.label, 28)));
  return html("div", { class: "legend" }, ...plans, entry(html("i", { class: "box-mark beyond-mark" }), "not reachable by any plan"));
}
