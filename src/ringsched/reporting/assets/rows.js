// The rows of the Gantt chart: a GPU each, servers apart from each other, switches further apart.

import { svg } from "./dom.js";
import { fitted, textWidth } from "./text.js";

const MOST_HEIGHT = 4000;
const SWITCH_WIDTH = 24; // of the column of one level

/** Return the x position of time 0, which is the same in all pictures of a cluster. */
export function leftEdge(cluster, width) {
  const names = [...cluster.servers.map((server) => server.name), ...cluster.switches.map((each) => each.label)];
  // The name with the most letters is the widest, or nearly; measuring thousands of names is slow.
  const longest = names.reduce((one, other) => (other.length > one.length ? other : one), "").slice(0, 60);
  const needed = Math.ceil(textWidth(longest, 11)) + 12;
  return switchesWidth(cluster) + Math.max(24, Math.min(needed, 120, Math.floor(width * 0.22)));
}

/** Return how wide the columns with the names of switches are. */
function switchesWidth(cluster) {
  return SWITCH_WIDTH * Math.max(0, ...cluster.switches.map((each) => each.level + 1));
}

/** Return where every row begins, how high it is, and where all of them end. */
export function placeRows(cluster, top) {
  const height = Math.max(Math.min(MOST_HEIGHT / cluster.rows, 1), Math.min(15, 600 / cluster.rows));
  const serverGap = height >= 6 ? 5 : height >= 2 ? 2 : height / 2;
  const edges = new Set(cluster.switches.flatMap((each) => [each.row, each.row + each.rows]));
  const begins = new Float64Array(cluster.rows);
  let y = top;
  for (const server of cluster.servers) {
    if (server.row > 0) y += serverGap;
    if (server.row > 0 && edges.has(server.row)) y += serverGap + 3;
    for (let gpu = 0; gpu < server.gpus; gpu += 1) begins[server.row + gpu] = y + gpu * height;
    y += server.gpus * height;
  }
  return { begins, height, bottom: y };
}

/** Return the part of a path that covers some rows of one server for some time. */
export function blockPath(rows, row, count, x, width) {
  return `M${x.toFixed(2)} ${rows.begins[row].toFixed(2)}h${width.toFixed(2)}v${(count * rows.height).toFixed(2)}h${(-width).toFixed(2)}z`;
}

/** Return the background of all servers with their names, and the names of the switches. */
export function drawServers(cluster, rows, left, right) {
  const group = svg("g", { class: "servers", "aria-hidden": "true" });
  let free = -Infinity; // names are left out where they would touch
  for (const server of cluster.servers) {
    const [y, height] = [rows.begins[server.row], server.gpus * rows.height];
    group.append(svg("rect", { class: "track", x: left, y, width: right - left, height }));
    for (const gpu of server.off || []) {
      const at = rows.begins[server.row + gpu];
      group.append(svg("rect", { class: "off", x: left, y: at, width: right - left, height: rows.height }));
    }
    const middle = y + height / 2;
    if (middle - 6 < free) continue;
    free = middle + 6;
    const name = fitted(server.name, left - switchesWidth(cluster) - 10, 11);
    group.append(svg("text", { class: "name", x: left - 6, y: middle + 4, "text-anchor": "end" }, name));
  }
  for (const each of cluster.switches) group.append(drawSwitch(each, rows, switchesWidth(cluster)));
  return group;
}

/** Return the bar beside the rows below a switch; bars of lower levels are closer to the servers. */
function drawSwitch({ name: whole, row, rows: count, level }, rows, width) {
  const [y, last] = [rows.begins[row], rows.begins[row + count - 1] + rows.height];
  const left = width - SWITCH_WIDTH * (level + 1);
  const middle = (y + last) / 2;
  const name = fitted(whole, last - y - 4, 11);
  return svg(
    "g", { class: "network-switch" },
    svg("rect", { x: left + 4, y, width: 16, height: last - y, rx: 3 }),
    svg("text", { x: 0, y: 0, transform: `translate(${left + 16} ${middle}) rotate(-90)`, "text-anchor": "middle" }, name),
  );
}

/** Return a placement in short, such as "a:0-7 b:2". */
export function placeText(cluster, runs, most = 4) {
  const parts = new Map();
  for (let at = 0; at < runs.length; at += 2) {
    const server = cluster.servers.findLast((each) => each.row <= runs[at]);
    const first = runs[at] - server.row;
    const text = runs[at + 1] === 1 ? `${first}` : `${first}-${first + runs[at + 1] - 1}`;
    parts.set(server.name, [...(parts.get(server.name) || []), text]);
  }
  const texts = [...parts].map(([name, gpus]) => `${fitted(name, 120, 11)}:${gpus.join(",")}`);
  const more = texts.length - most;
  return texts.slice(0, most).join(" ") + (more > 0 ? ` and ${more} more` : "");
}
