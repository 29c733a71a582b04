// The Gantt chart: GPUs down, time across, a job in the colour of its size, hatched where others slow it.

import { freshId, svg, widthOf } from "./dom.js";
import { jobTip } from "./job_tip.js";
import { blockPath, drawServers, leftEdge, placeRows } from "./rows.js";
import { linear, timeAxis } from "./scale.js";
import { fitted } from "./text.js";
import { hideTip } from "./tip.js";
import { choosesWindow } from "./window.js";

const TOP = 22;
const NAME_SIZE = 11;

/**
 * Draw a plan into an element, in place of what it holds.
 *
 * `data` has `cluster`, `jobs`, `sizes`, `bound`, `span`, and the plan's `gantt`, `losses`, `makespan`;
 * `window` is the stretch of time to show, or null; `onWindow` is told which one the user chooses.
 */
export function drawGantt(element, data, { window: stretch = null, onWindow = () => {}, find = "" } = {}) {
  const width = widthOf(element);
  const left = leftEdge(data.cluster, width);
  const rows = placeRows(data.cluster, TOP);
  const height = rows.bottom + 22;
  const [from, to] = stretch || [0, data.span || 1];
  const scale = linear(from, to, left, width - 10);
  const picture = svg("svg", {
    class: "picture gantt", viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "img",
    "aria-label": `Gantt chart of ${data.gantt.job.length} jobs; arrow keys go from job to job`,
  });
  const clip = freshId("clip");
  const plot = svg("g", { "clip-path": `url(#${clip})` });
  picture.append(svg(
    "defs", {},
    svg("clipPath", { id: clip }, svg("rect", { x: left, y: 0, width: width - 10 - left, height })),
    ...hatches(picture, data.sizes),
  ));
  picture.append(
    drawServers(data.cluster, rows, left, width - 10),
    timeAxis(scale, TOP - 4, rows.bottom + 4, TOP - 9),
    plot,
  );
  if (rows.bottom > 300) picture.append(timeAxis(scale, rows.bottom, rows.bottom + 4, rows.bottom + 17));
  const shapes = drawJobs(plot, picture, data, rows, scale);
  drawEnds(plot, data, scale, rows.bottom);
  mark(shapes, data, find);
  const outline = svg("path", { class: "outline" });
  plot.append(outline);
  isExplored(picture, data, shapes, outline);
  choosesWindow(picture, scale, TOP, rows.bottom, onWindow);
  element.replaceChildren(picture);
}

/** Return a pattern for every size class, in ink that shows on its colour; the colours go on the picture. */
function hatches(picture, sizes) {
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

/** Draw every job as one path, whatever its number of GPUs: the page stays quick with thousands of jobs. */
function drawJobs(plot, picture, data, rows, scale) {
  const { gantt, jobs } = data;
  const [blocks, slowed, names] = [svg("g"), svg("g", { class: "slowed" }), svg("g", { class: "names" })];
  const shapes = gantt.job.map((job, at) => {
    const size = jobs.size[job];
    const [x, right] = [scale.at(gantt.start[at]), scale.at(gantt.finish[at])];
    const outside = right < scale.first || x > scale.last;
    const shape = svg("path", { class: "job", "data-at": at, d: outside ? "" : pathOf(gantt.runs[at], rows, x, right) });
    shape.style.fill = `var(--size-${size})`;
    blocks.append(shape);
    if (outside) return shape;
    const slow = gantt.slow[at];
    let d = "";
    for (let part = 0; part < slow.length; part += 3) {
      d += pathOf(gantt.runs[at], rows, scale.at(slow[part]), scale.at(slow[part + 1]));
    }
    if (d) {
      const hatch = svg("path", { d });
      hatch.style.fill = `var(--hatch-${size})`;
      slowed.append(hatch);
    }
    const name = nameOf(data, at, rows, Math.max(x, scale.first), Math.min(right, scale.last));
    if (name) names.append(name);
    return shape;
  });
  blocks.classList.toggle("fine", rows.height < 3);
  plot.append(blocks, slowed, names);
  return shapes;
}

function pathOf(runs, rows, x, right) {
  let d = "";
  for (let at = 0; at < runs.length; at += 2) d += blockPath(rows, runs[at], runs[at + 1], x, Math.max(0.5, right - x));
  return d;
}

/** Return a job's name on its largest block, if it fits there. */
function nameOf(data, at, rows, x, right) {
  const runs = data.gantt.runs[at];
  let largest = 0;
  for (let run = 2; run < runs.length; run += 2) if (runs[run + 1] > runs[largest + 1]) largest = run;
  const height = (runs[largest + 1] || 0) * rows.height;
  if (height < NAME_SIZE + 2 || right - x < 34) return null;
  const job = data.gantt.job[at];
  const text = fitted(data.jobs.name[job], right - x - 8, NAME_SIZE);
  if (!text) return null;
  const label = svg("text", { x: x + 4, y: rows.begins[runs[largest]] + height / 2 + 4 }, text);
  label.style.fill = `var(--ink-${data.jobs.size[job]})`;
  label.style.stroke = `var(--size-${data.jobs.size[job]})`;
  return label;
}

/** Draw where the plan ends, and before which instant no plan can. */
function drawEnds(plot, data, scale, bottom) {
  const line = (time, name) => {
    const x = scale.at(time);
    plot.append(svg("line", { class: `end ${name}`, x1: x, x2: x, y1: TOP - 4, y2: bottom + 4 }));
  };
  if (data.bound.makespan > 0) line(data.bound.makespan, "bound");
  if (data.makespan > 0) line(data.makespan, "makespan");
}

/** Fade all jobs whose names do not have the text that is looked for. */
function mark(shapes, data, find) {
  const wanted = find.trim().toLowerCase();
  shapes.forEach((shape, at) => {
    const name = data.jobs.name[data.gantt.job[at]].toLowerCase();
    shape.classList.toggle("faded", wanted !== "" && !name.includes(wanted));
  });
}

/** Show a job's details when the mouse is over it, or when arrow keys lead to it. */
function isExplored(picture, data, shapes, outline) {
  const { gantt } = data;
  const order = shapes.map((_, at) => at).sort((one, other) => gantt.start[one] - gantt.start[other] || one - other);
  let place = -1;
  const show = (at, x, y) => {
    outline.setAttribute("d", shapes[at].getAttribute("d"));
    place = order.indexOf(at);
    jobTip(data, at, x, y);
  };
  const hide = () => {
    outline.setAttribute("d", "");
    hideTip();
  };
  picture.addEventListener("pointermove", (event) => {
    const at = event.target.dataset.at;
    if (at === undefined) hide();
    else show(Number(at), event.clientX, event.clientY);
  });
  picture.addEventListener("pointerleave", hide);
  picture.addEventListener("blur", hide);
  picture.addEventListener("keydown", (event) => {
    const last = order.length - 1;
    const goes = {
      ArrowRight: place + 1, ArrowDown: place + 1, ArrowLeft: place - 1, ArrowUp: place - 1, Home: 0, End: last,
    };
    if (event.key === "Escape") hide();
    if (!(event.key in goes) || last < 0) return;
    event.preventDefault();
    const at = order[Math.min(last, Math.max(0, goes[event.key]))];
    const box = shapes[at].getBoundingClientRect();
    show(at, Math.max(8, box.left), Math.min(Math.max(box.top, 8), window.innerHeight - 60));
  });
}
