// The jobs of the Gantt chart: their blocks, hatching where contention slows them, and their names.

import { freshId, svg } from "./dom.js";
import { blockPath } from "./rows.js";
import { fitted, textWidth } from "./text.js";

const NAME_SIZE = 11;

/** Return a hatching pattern for every size class that is visible on its colour. */
export function hatches(picture, sizes) {
  const prefix = freshId("hatch");
  return sizes.map((size) => {
    picture.style.setProperty(`--size-${size.class}`, `light-dark(${size.light}, ${size.dark})`);
    picture.style.setProperty(`--ink-${size.class}`, `light-dark(${size.inkLight}, ${size.inkDark})`);
    picture.style.setProperty(`--hatch-${size.class}`, `url("#${prefix}-${size.class}")`);
    const line = svg("path", { d: "M-1 1l2-2M0 7l7-7M6 8l2-2", class: "hatch" });
    line.style.stroke = `var(--ink-${size.class})`;
    const box = { id: `${prefix}-${size.class}`, width: 7, height: 7, patternUnits: "userSpaceOnUse" };
    return svg("pattern", box, line);
  });
}

/**
 * Draw every job as one path, whatever its number of GPUs, so that the page stays fast with thousands of jobs.
 * Jobs whose names do not contain `wanted` are faded.
 */
export function drawJobs(plot, data, rows, scale, wanted) {
  const { gantt, jobs } = data;
  const [blocks, slowed, names] = [svg("g"), svg("g", { class: "slowed" }), svg("g", { class: "names" })];
  const hatched = new Map();
  const shapes = gantt.job.map((job, at) => {
    const size = jobs.size[job];
    const [x, right] = [scale.at(gantt.start[at]), scale.at(gantt.finish[at])];
    const outside = right < scale.first || x > scale.last;
    const faded = wanted && !jobs.name[job].toLowerCase().includes(wanted);
    const d = outside ? "" : pathOf(gantt.runs[at], rows, x, right);
    const shape = svg("path", { class: faded ? "job faded" : "job", "data-at": at, d });
    shape.style.fill = `var(--size-${size})`;
    blocks.append(shape);
    if (outside || faded) return shape;
    hatched.set(size, (hatched.get(size) || "") + slowedPath(gantt, at, rows, scale));
    const name = nameOf(data, at, rows, Math.max(x, scale.first), Math.min(right, scale.last));
    if (name) names.append(...name);
    return shape;
  });
  for (const [size, d] of hatched) if (d) slowed.append(hatchOf(size, d));
  const fineness = rows.height < 1.5 ? "very fine" : rows.height < 3 ? "fine" : "";
  for (const group of [blocks, slowed]) group.setAttribute("class", `${group.getAttribute("class") || ""} ${fineness}`);
  plot.append(blocks, slowed, names);
  return shapes;
}

function pathOf(runs, rows, x, right) {
  let d = "";
  for (let at = 0; at < runs.length; at += 2) d += blockPath(rows, runs[at], runs[at + 1], x, Math.max(0.5, right - x));
  return d;
}

/** Return the blocks of the intervals in which contention slows a job. */
function slowedPath(gantt, at, rows, scale) {
  const slow = gantt.slow[at];
  let d = "";
  for (let part = 0; part < slow.length; part += 3) {
    d += pathOf(gantt.runs[at], rows, scale.at(slow[part]), scale.at(slow[part + 1]));
  }
  return d;
}

/** Return the hatching of all jobs of a size: one path, because every path gets a separate pattern in a printed file. */
function hatchOf(size, d) {
  const hatch = svg("path", { d });
  hatch.style.fill = `var(--hatch-${size})`;
  return hatch;
}

/** Return a job's name on its largest block, if it fits there, and a plain backing, so that hatching does not cross it. */
function nameOf(data, at, rows, x, right) {
  const runs = data.gantt.runs[at];
  let largest = 0;
  for (let run = 2; run < runs.length; run += 2) if (runs[run + 1] > runs[largest + 1]) largest = run;
  const height = (runs[largest + 1] || 0) * rows.height;
  if (height < NAME_SIZE + 2 || right - x < 34) return null;
  const job = data.gantt.job[at];
  const text = fitted(data.jobs.name[job], right - x - 8, NAME_SIZE);
  if (!text) return null;
  const middle = rows.begins[runs[largest]] + height / 2;
  const backing = svg("rect", { x: x + 2, y: middle - 6.5, width: textWidth(text, NAME_SIZE) + 4, height: 13, rx: 2 });
  backing.style.fill = `var(--size-${data.jobs.size[job]})`;
  const label = svg("text", { x: x + 4, y: middle + 4 }, text);
  label.style.fill = `var(--ink-${data.jobs.size[job]})`;
  return [backing, label];
}
