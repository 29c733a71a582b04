// The completion curves: jobs done over time for every plan, and the best possible curve.

import { svg, widthOf } from "./dom.js";
import { countAxis, linear, timeAxis } from "./scale.js";
import { counted, duration } from "./text.js";
import { hideTip, showTip } from "./tip.js";

const [TOP, LEFT, RIGHT, BOTTOM] = [10, 40, 14, 26];
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 2", "12 4"];

/** Return the colour and the dash pattern of a plan's line; each of the two identifies it. */
export function lineLook(colours, at) {
  return { colour: `light-dark(${colours[at % colours.length].join(", ")})`, dash: DASHES[at % DASHES.length] };
}

/**
 * Draw the curves of all plans into an element, replacing its content.
 *
 * `data` has `plans`, each with `label` and `ends`; `bound` with `ends`; `numJobs`, `span`, `planColours`.
 */
export function drawCurves(element, data, { height = 260 } = {}) {
  const width = widthOf(element);
  const x = linear(0, data.span || 1, LEFT, width - RIGHT);
  const y = linear(0, Math.max(1, data.numJobs), height - BOTTOM, TOP);
  const picture = svg("svg", {
    class: "picture curves", viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "img",
    "aria-label": "Jobs done over time, by plan; left and right arrow keys move in time",
  });
  picture.append(timeAxis(x, TOP, height - BOTTOM, height - 8), countAxis(y, LEFT, width - RIGHT));
  const best = stairs(data.bound.ends, x, y, data.span);
  picture.append(
    svg("path", { class: "beyond", d: `${best}V${TOP}H${LEFT}Z` }),
    svg("path", { class: "line bound", d: best }),
  );
  data.plans.forEach((plan, at) => {
    const look = lineLook(data.planColours, at);
    const line = svg("path", { class: "line plan", d: stairs(plan.ends, x, y, data.span), "stroke-dasharray": look.dash });
    line.style.stroke = look.colour;
    picture.append(line);
  });
  const ruler = svg("line", { class: "ruler", y1: TOP, y2: height - BOTTOM, x1: -9, x2: -9 });
  picture.append(ruler);
  isExplored(picture, ruler, data, x);
  element.replaceChildren(picture);
}

function stairs(ends, x, y, span) {
  let d = `M${x.first} ${y.first}`;
  ends.forEach((end, at) => {
    d += `H${x.at(end).toFixed(2)}V${y.at(at + 1).toFixed(2)}`;
  });
  return `${d}H${x.at(span || 1).toFixed(2)}`;
}

function doneBy(ends, time) {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isExplored(picture, ruler, data, scale) {
  let time = 0;
  const show = (x, y) => {
    const pixel = scale.at(time);
    ruler.setAttribute("x1", pixel);
    ruler.setAttribute("x2", pixel);
    const rows = data.plans.map((plan) => [plan.label, counted(doneBy(plan.ends, time), "job")]);
    rows.push(["upper bound", counted(doneBy(data.bound.ends, time), "job")]);
    showTip(`done by ${duration(time)}`, rows, x, y);
  };
  const hide = () => {
    ruler.setAttribute("x1", -9);
    ruler.setAttribute("x2", -9);
    hideTip();
  };
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    time = scale.back(((event.clientX - box.left) / box.width) * picture.viewBox.baseVal.width);
    if (time < 0 || time > data.span) hide();
    else show(event.clientX, event.clientY);
  });
  picture.addEventListener("pointerleave", hide);
  picture.addEventListener("blur", hide);
  picture.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    time = Math.min(data.span, Math.max(0, time + (step * data.span) / 50));
    const box = picture.getBoundingClientRect();
    show(box.left + (scale.at(time) / picture.viewBox.baseVal.width) * box.width, box.top + 20);
  });
}
