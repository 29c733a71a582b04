// The contention matrix: a row for each slowed job, a column for each job that slows it, coloured by the time lost.

import { html } from "./dom.js";
import { counted, duration, shortened } from "./text.js";

const MOST_LINKS = 8;

/** Draw the matrix and the links into an element; `data` has the plan's `blame` and `links`, and `jobs`. */
export function drawBlame(element, data) {
  const { blame } = data;
  if (!blame.victims.length) {
    element.replaceChildren(html("p", { class: "note" }, "No job slows another in this plan."));
    return;
  }
  element.replaceChildren(
    html("p", { class: "note" }, about(blame)),
    html("div", { class: "beside" }, matrix(data), worstLinks(data.links)),
  );
}

function matrix({ blame, jobs }) {
  const most = Math.max(...blame.seconds.flat(), 0) || 1;
  const head = html("tr", {}, html("th", { scope: "col" }, "slowed ↓ by →"));
  for (const culprit of blame.culprits) {
    const name = html("span", {}, shortened(jobs.name[culprit], 18));
    head.append(html("th", { scope: "col", class: "culprit", title: shortened(jobs.name[culprit], 200) }, name));
  }
  head.append(html("th", { scope: "col", class: "sum" }, "all"));
  const body = blame.victims.map((victim, row) => {
    const name = jobs.name[victim];
    const line = html("tr", {}, html("th", { scope: "row", title: shortened(name, 200) }, shortened(name, 24)));
    blame.culprits.forEach((culprit, column) => {
      const seconds = blame.seconds[row][column];
      const said = `${shortened(name)} loses ${duration(seconds)} because of ${shortened(jobs.name[culprit])}`;
      line.append(seconds > 0 ? loss(seconds, most, said) : html("td"));
    });
    line.append(html("td", { class: "sum" }, unbroken(blame.lost[row])));
    return line;
  });
  const sums = [...blame.caused, blame.total].map((caused) => html("td", { class: "sum" }, unbroken(caused)));
  const foot = html("tr", {}, html("th", { scope: "row" }, "all"), ...sums);
  const table = html("table", { class: "blame" });
  table.append(html("thead", {}, head), html("tbody", {}, ...body), html("tfoot", {}, foot));
  return html("div", { class: "scrolls" }, table);
}

function loss(seconds, most, said) {
  const cell = html("td", { class: seconds > most * 0.55 ? "loss strong" : "loss", title: said }, unbroken(seconds));
  cell.style.setProperty("--share", `${Math.round(12 + (78 * seconds) / most)}%`);
  return cell;
}

function worstLinks(links) {
  const worst = links.filter((link) => link.lost > 0).sort((one, other) => other.lost - one.lost);
  const head = html("tr", {}, ...["uplink of", "lost", "contended", "jobs"].map((name) => html("th", { scope: "col" }, name)));
  const rows = worst.slice(0, MOST_LINKS).map((link) => html(
    "tr", {},
    html("th", { scope: "row", title: shortened(link.name, 200) }, shortened(link.name, 24)),
    ...[unbroken(link.lost), unbroken(link.contended), link.jobs].map((value) => html("td", {}, String(value))),
  ));
  const more = worst.length - MOST_LINKS;
  const caption = html("caption", {}, more > 0 ? `By link: the worst ${MOST_LINKS} of ${worst.length}` : "By link");
  const table = html("table", { class: "worst" }, caption, html("thead", {}, head), html("tbody", {}, ...rows));
  return html("div", { class: "scrolls" }, table);
}

function about(blame) {
  const hidden = blame.victims.length < blame.numVictims || blame.culprits.length < blame.numCulprits;
  const lose = blame.numVictims === 1 ? "job loses" : "jobs lose";
  const all = `${blame.numVictims} ${lose} ${duration(blame.total)} in total to other jobs on their links.`;
  const cut = ` The table shows the ${counted(blame.victims.length, "job")} that lose most and the ${blame.culprits.length} that cost most; “all” includes every job.`;
  return `${all}${hidden ? cut : ""}`;
}

/** Return a duration whose numbers stay beside their units where a cell is narrow. */
function unbroken(seconds) {
  return duration(seconds).replace(/(\d) /g, "$1\u00a0");
}
