// The progress of a search: best value, bound and gap, and both over time.

import { html, svg, widthOf } from "./dom.js";
import { button } from "./fields.js";
import { linear, roundNumbers, timeAxis } from "./scale.js";
import { duration, figure, percentAbove, unitOf } from "./text.js";

const [HEIGHT, TOP, LEFT, RIGHT, BOTTOM] = [120, 8, 62, 12, 22];
const RATIO = "max-slowdown"; // whose values are no seconds
const SAID = { waiting: "beginning", running: "searching", done: "done", stopped: "stopped", failed: "failed" };

/** Return `show`, which adds a step to the progress, and `clear`, which starts a new search. */
export function searchPanel(element, stop) {
  const figures = html("dl", { class: "figures" });
  const chart = html("div", { class: "chart" });
  const end = button("Stop", stop, { class: "stop" });
  const said = html("span", { class: "said", role: "status" });
  element.append(html("div", { class: "row" }, html("h2", {}, "Search"), said, end), html("div", { class: "progress" }, figures, chart));
  let steps = [];
  const show = (progress) => {
    element.hidden = false;
    end.hidden = progress.state !== "running" && progress.state !== "waiting";
    const words = SAID[progress.state] + (progress.ended ? `: ${progress.ended}` : "");
    if (said.textContent !== words) said.textContent = words;
    if (!Number.isFinite(progress.value_s)) return; // no plan yet
    if (!steps.length || steps.at(-1).elapsed_s <= progress.elapsed_s) steps.push(progress);
    figures.replaceChildren(...rowsOf(progress).flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]));
    drawSearch(chart, steps);
  };
  const clear = () => {
    steps = [];
    figures.replaceChildren();
    chart.replaceChildren();
    element.hidden = true;
  };
  return { show, clear };
}

function rowsOf({ value_s, bound_s, gap, iterations, elapsed_s, objective }) {
  const shown = objective === RATIO ? figure : duration;
  return [
    ["best", shown(value_s)],
    ["lower bound", shown(bound_s)],
    ["gap", percentAbove(gap)],
    ["schedules tried", String(iterations)],
    ["after", duration(Number(elapsed_s.toFixed(1)))],
  ];
}

/** Draw the best value and the bound over the time of the search into an element. */
export function drawSearch(element, steps) {
  const width = widthOf(element);
  const values = steps.flatMap(({ value_s, bound_s }) => [value_s, bound_s]);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = linear(0, Math.max(1, steps.at(-1).elapsed_s), LEFT, width - RIGHT);
  const y = linear(low, high > low ? high : low + 1, HEIGHT - BOTTOM, TOP);
  const line = (key, name) => svg("path", { class: `line ${name}`, d: stairs(steps, key, x, y) });
  const label = "Best value and bound over the time of the search";
  const picture = svg("svg", { class: "picture search", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label });
  picture.append(timeAxis(x, TOP, HEIGHT - BOTTOM, HEIGHT - 6), valueAxis(y, width, steps.at(-1).objective), line("bound_s", "bound"), line("value_s", "best"));
  element.replaceChildren(picture);
}

function stairs(steps, key, x, y) {
  let d = `M${x.at(steps[0].elapsed_s).toFixed(1)} ${y.at(steps[0][key]).toFixed(1)}`;
  for (const step of steps) d += `H${x.at(step.elapsed_s).toFixed(1)}V${y.at(step[key]).toFixed(1)}`;
  return `${d}H${x.last}`;
}

function valueAxis(scale, width, objective) {
  const group = svg("g", { class: "axis", "aria-hidden": "true" });
  const unit = objective === RATIO ? { seconds: 1, name: "" } : unitOf(scale.to);
  for (const number of roundNumbers(scale.from / unit.seconds, scale.to / unit.seconds, 3)) {
    const y = scale.at(number * unit.seconds);
    group.append(svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y, y2: y }));
    group.append(svg("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, `${number} ${unit.name}`.trim()));
  }
  return group;
}
