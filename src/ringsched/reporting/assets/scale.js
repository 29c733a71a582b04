// Scales from numbers to pixels, and axes.

import { svg } from "./dom.js";
import { figure, unitOf } from "./text.js";

/** Return a linear scale: `at` turns a number into a pixel, `back` the other way. */
export function linear(from, to, first, last) {
  const span = to - from || 1;
  return {
    from, to, first, last,
    at: (value) => first + ((value - from) / span) * (last - first),
    back: (pixel) => from + ((pixel - first) / (last - first || 1)) * span,
  };
}

/** Return round numbers between two numbers, about so many. */
export function roundNumbers(from, to, wanted) {
  const rough = (to - from) / Math.max(1, wanted);
  if (!(rough > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough * 0.999);
  const numbers = [];
  for (let at = Math.ceil(from / step - 1e-9); at * step <= to * (1 + 1e-12) + step * 1e-9; at += 1) {
    numbers.push(Number((at * step).toPrecision(12)));
  }
  return numbers;
}

/** Return lines and labels of a time axis; lines run from `top` to `bottom`, labels are at `below`. */
export function timeAxis(scale, top, bottom, below) {
  const unit = unitOf(scale.to - scale.from);
  const wanted = Math.max(2, Math.floor((scale.last - scale.first) / 75));
  const group = svg("g", { class: "axis", "aria-hidden": "true" });
  for (const number of roundNumbers(scale.from / unit.seconds, scale.to / unit.seconds, wanted)) {
    const x = scale.at(number * unit.seconds);
    group.append(svg("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }));
    const late = x > scale.last - 24;
    const label = svg("text", { x, y: below, "text-anchor": late ? "end" : "middle" }, `${figure(number)} ${unit.name}`);
    group.append(label);
  }
  return group;
}

/** Return lines and labels of a vertical axis of counts. */
export function countAxis(scale, left, right) {
  const group = svg("g", { class: "axis", "aria-hidden": "true" });
  const wanted = Math.max(2, Math.floor(Math.abs(scale.last - scale.first) / 45));
  for (const number of roundNumbers(scale.from, scale.to, wanted).filter(Number.isInteger)) {
    const y = scale.at(number);
    group.append(svg("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }));
    group.append(svg("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, String(number)));
  }
  return group;
}
