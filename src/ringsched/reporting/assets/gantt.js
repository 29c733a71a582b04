// The Gantt chart: GPUs down, time across, a job in the colour of its size, hatched where contention slows it.

import { drawJobs, hatches } from "./blocks.js";
import { freshId, svg, widthOf } from "./dom.js";
import { jobTip } from "./job_tip.js";
import { drawServers, leftEdge, placeRows } from "./rows.js";
import { linear, timeAxis } from "./scale.js";
import { hideTip } from "./tip.js";
import { choosesWindow } from "./window.js";

const TOP = 22;

/**
 * Draw a plan into an element, replacing its content.
 *
 * `data` has `cluster`, `jobs`, `sizes`, `bound`, `span`, and the plan's `gantt`, `losses`, `makespan`;
 * `window` is the time range to show, or null; `onWindow` gets the range that the user selects; `find` is a
 * part of a name: other jobs are faded.
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
    "aria-label": `Gantt chart of ${data.gantt.job.length} jobs; arrow keys move between jobs`,
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
  const shapes = drawJobs(plot, data, rows, scale, find.trim().toLowerCase());
  drawEnds(plot, data, scale, rows.bottom);
  const outline = svg("path", { class: "outline" });
  plot.append(outline);
  isExplored(picture, data, shapes, outline);
  choosesWindow(picture, scale, TOP, rows.bottom, onWindow);
  element.replaceChildren(picture);
}

/** Draw the end of the plan and the lower bound. */
function drawEnds(plot, data, scale, bottom) {
  const line = (time, name) => {
    const x = scale.at(time);
    plot.append(svg("line", { class: `end ${name}`, x1: x, x2: x, y1: TOP - 4, y2: bottom + 4 }));
  };
  if (data.bound.makespan > 0) line(data.bound.makespan, "bound");
  if (data.makespan > 0) line(data.makespan, "makespan");
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
