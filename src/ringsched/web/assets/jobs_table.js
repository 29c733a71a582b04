// All jobs in a table: what they are, when they run by the plan shown, and buttons to change them.

import { html } from "./dom.js";
import { button } from "./fields.js";
import { figure, shortened } from "./text.js";

const FIRST = 100; // rows; the rest on demand

/** Return a function that fills an element with the table; `edit` and `remove` get the number of a job. */
export function jobsTable(body, { edit, remove }) {
  let most = FIRST;
  const show = (scenario, pictures, find) => {
    const wanted = find.trim().toLowerCase();
    const found = [...scenario.jobs.keys()].filter((at) => scenario.jobs[at].name.toLowerCase().includes(wanted));
    const focused = focusedIn(body);
    if (found.length) body.replaceChildren(table(scenario.jobs, found.slice(0, most), timesOf(pictures, scenario), edit, remove));
    else body.replaceChildren(html("p", { class: "note" }, scenario.jobs.length ? "No job has such a name." : "There is no job yet."));
    if (found.length > most) body.append(html("p", {}, button(`Show all ${found.length} jobs`, () => {
      most = Infinity;
      show(scenario, pictures, find);
    })));
    if (focused) focusAgain(body, focused);
  };
  return show;
}

/** Return which button of the table has the keyboard: what it does, and in which row. */
function focusedIn(body) {
  const { does, at } = body.contains(document.activeElement) ? document.activeElement.dataset : {};
  return does ? { does, at: Number(at) } : null;
}

/** Give the keyboard to a button of the table, or to that of the last row if there are fewer now. */
export function focusAgain(body, { does, at }) {
  const buttons = [...body.querySelectorAll(`[data-does="${does}"]`)];
  (buttons.find((each) => Number(each.dataset.at) === at) ?? buttons.at(-1))?.focus();
}

function table(jobs, shown, times, edit, remove) {
  const runs = times.map((each) => (times.length > 1 ? `${shortened(each.label, 18)}: runs` : "runs"));
  const heads = ["job", "GPUs", "iterations", "gradients", "submitted", ...runs, ""].map((name) => html("th", { scope: "col" }, name));
  const rows = shown.map((at) => row(jobs[at], at, times.map((each) => each[at]), edit, remove));
  const made = html("table", { class: "jobs" }, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...rows));
  return html("div", { class: "scrolls" }, made);
}

function row(job, at, times, edit, remove) {
  const name = shortened(job.name, 40);
  return html(
    "tr", {},
    html("th", { scope: "row", title: shortened(job.name, 300) }, html("bdi", {}, name)),
    ...[job.gpus, job.iterations, `${figure(job.gradient_mb)} MB`, `${figure(job.submit_s)} s`].map((value) => html("td", {}, String(value))),
    ...times.map((time) => html("td", {}, time ?? "–")),
    html(
      "td", {},
      button("Edit", () => edit(at), { "aria-label": `Edit ${name}`, "data-does": "edit", "data-at": at }), " ",
      button("Remove", () => remove(at), { "aria-label": `Remove ${name}`, "data-does": "remove", "data-at": at }),
    ),
  );
}

/** Return for every plan when each job runs; nothing if the pictures are of other jobs. */
function timesOf(pictures, scenario) {
  if (!pictures || pictures.numJobs !== scenario.jobs.length) return [];
  return pictures.plans.map((plan) => {
    const times = Object.assign([], { label: plan.label });
    plan.gantt.job.forEach((job, at) => {
      if (pictures.jobs.name[job] === scenario.jobs[job].name) times[job] = `${figure(plan.gantt.start[at])} to ${figure(plan.gantt.finish[at])} s`;
    });
    return times;
  });
}
