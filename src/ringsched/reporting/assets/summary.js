// The figures of the plans: cards for one plan, a table for several.

import { lineLook } from "./curves.js";
import { html, svg } from "./dom.js";
import { counted, shortened } from "./text.js";

/** Draw the figures of all plans into an element; `data` has `plans` with `label` and `summary`. */
export function drawSummary(element, data) {
  const warnings = data.plans.filter((plan) => !plan.summary.valid).map(warning);
  const body = data.plans.length === 1 ? cards(data.plans[0]) : table(data);
  element.replaceChildren(...warnings, body);
}

function warning(plan) {
  const { numViolations, violations } = plan.summary;
  const list = html("ul", {}, ...violations.map((each) => html("li", {}, shortened(each, 300))));
  const more = numViolations - violations.length;
  if (more > 0) list.append(html("li", {}, `and ${more} more; ringsched verify lists them all`));
  const said = `Plan ${shortened(plan.label)} is not valid: ${counted(numViolations, "violation")}. `;
  return html("div", { class: "warning", role: "alert" }, html("strong", {}, said), "It is shown as written in its file.", list);
}

function cards(plan) {
  const { summary } = plan;
  const notes = { gap: summary.quality, makespan: "" };
  const list = summary.figures.map((each) => {
    const note = each.name.startsWith("lower bound") ? summary.reason : notes[each.name] || "";
    return html(
      "div", { class: "card" },
      html("span", { class: "label" }, each.name),
      html("span", { class: "value" }, each.text),
      html("span", { class: "note" }, shortened(note, 120)),
    );
  });
  return html("div", { class: "cards" }, ...list);
}

/** Return a table with a row for each plan; the best of every column is marked, shared values are below it. */
function table(data) {
  const names = [...new Set(data.plans.flatMap((plan) => plan.summary.figures.map((each) => each.name)))];
  const shared = names.filter((name) => name.startsWith("lower bound") && isSame(data.plans, name));
  const columns = names.filter((name) => !shared.includes(name));
  const heads = ["plan", ...columns].map((name) => html("th", { scope: "col" }, name));
  const rows = data.plans.map((plan, at) => {
    const made = `${plan.label}: policy ${plan.summary.policy} ${plan.summary.choices}`;
    const label = html("th", { scope: "row", title: shortened(made, 200) }, swatch(data.planColours, at), ` ${shortened(labelOf(plan), 18)}`);
    return html("tr", {}, label, ...columns.map((name) => cellOf(data.plans, plan, name)));
  });
  const body = html("table", { class: "plans" }, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...rows));
  const notes = shared.map((name) => {
    const { text } = figureOf(data.plans[0], name);
    const { reason } = data.plans[0].summary;
    return html("p", { class: "note" }, shortened(`${name} ${text}${reason ? `: ${reason}` : ""}`, 300));
  });
  return html("div", {}, html("div", { class: "scrolls" }, body), ...notes);
}

function figureOf(plan, name) {
  return plan.summary.figures.find((each) => each.name === name);
}

function isSame(plans, name) {
  return new Set(plans.map((plan) => figureOf(plan, name)?.value)).size === 1;
}

function cellOf(plans, plan, name) {
  const own = figureOf(plan, name);
  if (!own) return html("td", {}, "–");
  const valid = plans.filter((each) => each.summary.valid).map((each) => figureOf(each, name)).filter(Boolean);
  const values = valid.map((each) => each.value);
  const best = Math.min(...values);
  const isBest = plan.summary.valid && own.better === "low" && own.value === best && best < Math.max(...values);
  return html("td", isBest ? { class: "best" } : {}, own.text);
}

/** Return the label of a plan, marked if it is not valid. */
export function labelOf(plan) {
  return plan.summary.valid ? plan.label : `⚠ ${plan.label}`;
}

/** Return a sample of the plan's line in the curves. */
export function swatch(colours, at) {
  const look = lineLook(colours, at);
  const line = svg("line", { x1: 0, x2: 26, y1: 5, y2: 5, "stroke-dasharray": look.dash, "stroke-width": 3 });
  line.style.stroke = look.colour;
  return svg("svg", { class: "swatch", width: 26, height: 10, "aria-hidden": "true" }, line);
}
