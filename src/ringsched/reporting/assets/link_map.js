// The link map: links down, level by level, time across, coloured by the number of jobs or by the bandwidth in use.

import { freshId, svg, widthOf } from "./dom.js";
import { jobNames, jobsOnLink } from "./job_tip.js";
import { leftEdge } from "./rows.js";
import { linear, timeAxis } from "./scale.js";
import { duration, figure, fitted } from "./text.js";
import { hideTip, showTip } from "./tip.js";
import { choosesWindow } from "./window.js";

const TOP = 22;
const HEADING = 19; // above the links of a level, where there are several levels

/**
 * Draw the links of a plan into an element, replacing its content.
 *
 * `data` has the plan's `links` and `gantt`, and `cluster`, `jobs`, `levels`, `span`; `mode` is `jobs` or `load`.
 */
export function drawLinks(element, data, { window: stretch = null, onWindow = () => {}, mode = "jobs" } = {}) {
  const { links } = data;
  const width = widthOf(element);
  const left = leftEdge(data.cluster, width);
  const rowHeight = Math.max(Math.min(1500 / links.length, 3), Math.min(18, 420 / links.length));
  const { tops, headings, bottom } = placeLinks(data, rowHeight);
  const [from, to] = stretch || [0, data.span || 1];
  const scale = linear(from, to, left, width - 10);
  const clip = freshId("clip");
  const picture = svg("svg", {
    class: "picture links", viewBox: `0 0 ${width} ${bottom + 6}`, tabindex: 0, role: "img",
    "aria-label": `Map of ${links.length} links over time; arrow keys move between links and changes`,
  });
  const plot = svg("g", { "clip-path": `url(#${clip})` });
  picture.append(
    svg("defs", {}, svg("clipPath", { id: clip }, svg("rect", { x: left, y: 0, width: width - 10 - left, height: bottom }))),
    ...headings.map(({ y, height }) => svg("rect", { class: "track", x: left, y, width: width - 10 - left, height })),
    timeAxis(scale, TOP - 4, bottom + 4, TOP - 9),
    plot,
    drawNames(links, tops, rowHeight, left),
    drawHeadings(headings),
  );
  drawSteps(plot, data, scale, tops, rowHeight, mode);
  const outline = svg("rect", { class: "outline", width: 0, height: rowHeight });
  plot.append(outline);
  isExplored({ picture, outline, data, scale, tops, rowHeight });
  choosesWindow(picture, scale, TOP, bottom, onWindow);
  element.replaceChildren(picture);
}

/** Return where every link begins, where the links of each level are and what they are called, and the end. */
function placeLinks({ links, cluster }, rowHeight) {
  const several = links.some((link) => link.level !== links[0].level);
  const [tops, headings] = [[], []];
  let y = TOP;
  links.forEach((link, row) => {
    if (row === 0 || link.level !== links[row - 1].level) {
      if (several) y += HEADING;
      headings.push({ name: several ? headingOf(links, link.level, cluster) : "", y, height: 0 });
    }
    tops.push(y);
    y += rowHeight;
    headings.at(-1).height += rowHeight;
  });
  return { tops, headings, bottom: y };
}

/** Return what the links of a level are called, and their speeds. */
function headingOf(links, level, cluster) {
  const speeds = links.filter((link) => link.level === level).map((link) => link.gbps);
  const [low, high] = [Math.min, Math.max].map((least) => speeds.reduce((one, other) => least(one, other)));
  return `${cluster.linkLevels[level]}, ${low === high ? "" : `${figure(low)} to `}${figure(high)} Gbit/s`;
}

function drawHeadings(headings) {
  const names = headings.filter(({ name }) => name);
  return svg("g", { "aria-hidden": "true" }, ...names.map(({ name, y }) => svg("text", { class: "heading", x: 2, y: y - 5 }, name)));
}

/** Draw one path for every level of colour, because there may be tens of thousands of steps. */
function drawSteps(plot, data, scale, tops, rowHeight, mode) {
  const levels = data.levels[mode];
  const column = mode === "load" ? 2 : 1;
  const paths = levels.map(() => []);
  const gap = rowHeight > 5 ? 1 : 0;
  data.links.forEach((link, row) => {
    const y = tops[row];
    for (let at = 0; at < link.steps.length; at += 3) {
      if (!link.steps[at + 1]) continue;
      const [x, right] = [scale.at(link.steps[at]), scale.at(link.steps[at + 3] ?? data.span)];
      if (right < scale.first || x > scale.last) continue;
      const level = levels.findIndex((each) => link.steps[at + column] <= each.most);
      const wide = Math.max(0.3, right - x).toFixed(2);
      paths[level].push(`M${x.toFixed(2)} ${y.toFixed(2)}h${wide}v${(rowHeight - gap).toFixed(2)}h-${wide}z`);
    }
  });
  paths.forEach((parts, at) => {
    const path = svg("path", { class: "step", d: parts.join("") });
    path.style.fill = `light-dark(${levels[at].light}, ${levels[at].dark})`;
    plot.append(path);
  });
}

function drawNames(links, tops, rowHeight, left) {
  const group = svg("g", { "aria-hidden": "true" });
  let free = -Infinity;
  links.forEach((link, row) => {
    const middle = tops[row] + 0.5 * rowHeight;
    if (middle - 6 < free) return;
    free = middle + 6;
    const name = fitted(link.name, left - 10, 11);
    group.append(svg("text", { class: "name", x: left - 6, y: middle + 4, "text-anchor": "end" }, name));
  });
  return group;
}

/** Show the details of a link under the mouse, or selected by arrow keys. */
function isExplored({ picture, outline, data, scale, tops, rowHeight }) {
  const { links } = data;
  const place = { row: -1, step: 0 };
  const hide = () => {
    outline.setAttribute("width", 0);
    hideTip();
  };
  const show = (row, step, x, y) => {
    Object.assign(place, { row, step });
    const { steps } = links[row];
    const [since, until] = [steps[3 * step], steps[3 * step + 3] ?? data.span];
    const [first, last] = [Math.max(scale.first, scale.at(since)), Math.min(scale.last, scale.at(until))];
    outline.setAttribute("x", first);
    outline.setAttribute("y", tops[row]);
    outline.setAttribute("width", Math.max(1, last - first));
    linkTip(data, row, step, x ?? first, y ?? tops[row]);
  };
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const zoom = picture.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * zoom, (event.clientY - box.top) * zoom];
    const row = tops.findLastIndex((top) => top <= y);
    if (row < 0 || y >= tops[row] + rowHeight || x < scale.first || x > scale.last) return hide();
    const step = stepAt(links[row].steps, scale.back(x));
    return step < 0 ? hide() : show(row, step, event.clientX, event.clientY);
  });
  picture.addEventListener("pointerleave", hide);
  picture.addEventListener("blur", hide);
  picture.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (event.key === "Escape") hide();
    if (!(event.key in moves) || !links.length) return;
    event.preventDefault();
    const row = Math.min(links.length - 1, Math.max(0, place.row + (place.row < 0 ? 1 : moves[event.key][0])));
    const lastStep = links[row].steps.length / 3 - 1;
    const step = row === place.row ? place.step + moves[event.key][1] : stepAt(links[row].steps, timeOf(place));
    const box = picture.getBoundingClientRect();
    show(row, Math.min(lastStep, Math.max(0, step)), box.left + scale.first, box.top + tops[row] + rowHeight);
  });
  const timeOf = ({ row, step }) => (row < 0 ? 0 : links[row].steps[3 * step]);
}

/** Return the number of the step at a time; -1 before the first. */
function stepAt(steps, time) {
  let [low, high] = [0, steps.length / 3];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[3 * middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function linkTip(data, row, step, x, y) {
  const link = data.links[row];
  const [since, jobs, percent] = link.steps.slice(3 * step, 3 * step + 3);
  const until = link.steps[3 * step + 3] ?? data.span;
  const rows = [
    ["time", `${duration(since)} to ${duration(until)}`],
    ["jobs", jobs ? `${jobs}: ${jobNames(data, jobsOnLink(data, link, (since + until) / 2))}` : "none"],
    ["in use", `${percent} % of ${figure(link.gbps)} Gbit/s`],
    ["in total", `${link.jobs} jobs; ${duration(link.contended)} contended`],
  ];
  if (link.lost > 0) rows.push(["lost here", `${duration(link.lost)}, summed over jobs`]);
  showTip(`uplink of ${link.name}`, rows, x, y);
}
