// A table of all jobs: their fields, their times in the plan shown, and buttons to edit them.

import { html } from "./dom.js";
import { button } from "./fields.js";
import { duration, figure, shortened } from "./text.js";

const FIRST = 100; // rows; the rest on demand

/** Return a function that fills an element with the table; `edit` and `remove` get the index of a job. */
export function jobsTable(body, { edit, remove }) {
  let [most, showAgain] = [FIRST, () => {}];
  const [heads, rows] = [html("tr"), html("tbody")];
  const table = html("div", { class: "scrolls" }, html("table", { class: "jobs" }, html("thead", {}, heads), rows));
  const none = html("p", { class: "note" });
  const all = button("", () => {
    most = Infinity;
    showAgain();
  });
  const more = html("p", {}, all);
  body.append(table, none, more);
  const show = (scenario, pictures, find) => {
    const wanted = find.trim().toLowerCase();
    const found = [...scenario.jobs.keys()].filter((at) => scenario.jobs[at].name.toLowerCase().includes(wanted));
    const times = timesOf(pictures, scenario);
    const focused = focusedIn(body);
    heads.replaceChildren(...headsOf(times));
    found.slice(0, most).forEach((at, place) => {
      const kept = keptRow(rows, place, at, scenario.jobs[at], { edit, remove });
      fill(kept, scenario.jobs[at], times.map((each) => each[at]));
    });
    while (rows.children.length > Math.min(found.length, most)) rows.lastChild.remove();
    [table.hidden, none.hidden, more.hidden] = [!found.length, found.length > 0, found.length <= most];
    none.textContent = scenario.jobs.length ? "No job matches this name." : "There are no jobs yet.";
    all.textContent = `Show all ${found.length} jobs`;
    showAgain = () => show(scenario, pictures, find);
    if (focused) focusAgain(body, focused);
  };
  return show;
}

/** Return the focused button of the table: its action and its row. */
function focusedIn(body) {
  const { does, at } = body.contains(document.activeElement) ? document.activeElement.dataset : {};
  return does ? { does, at: Number(at) } : null;
}

/** Focus a button of the table, or that of the last row if there are fewer rows now. */
export function focusAgain(body, { does, at }) {
  const buttons = [...body.querySelectorAll(`[data-does="${does}"]`)];
  (buttons.find((each) => Number(each.dataset.at) === at) ?? buttons.at(-1))?.focus();
}

function headsOf(times) {
  const runs = times.map((each) => (times.length > 1 ? `${shortened(each.label, 18)}: runs` : "runs"));
  return ["job", "GPUs", "iterations", "gradients", "submitted", ...runs, ""].map((name) => html("th", { scope: "col" }, name));
}

/** Return the row at an index. An existing row of this job is reused, so that a new plan does not remove a button while it is pressed. */
function keptRow(rows, place, at, job, { edit, remove }) {
  const there = rows.children[place];
  const name = shortened(job.name, 40);
  const key = `${at} ${name}`;
  if (there?.dataset.key === key) return there;
  const made = html("tr", { "data-key": key }, html(
    "td", {},
    button("Edit", () => edit(at), { "aria-label": `Edit ${name}`, "data-does": "edit", "data-at": at }), " ",
    button("Remove", () => remove(at), { "aria-label": `Remove ${name}`, "data-does": "remove", "data-at": at }),
  ));
  if (there) there.replaceWith(made);
  else rows.append(made);
  return made;
}

/** Write the cells of a job before the buttons of its row. */
function fill(row, job, times) {
  while (row.children.length > 1) row.firstChild.remove();
  row.prepend(
    html("th", { scope: "row", title: shortened(job.name, 300) }, html("bdi", {}, shortened(job.name, 40))),
    ...[job.gpus, job.iterations, `${figure(job.gradient_mb)} MB`, duration(job.submit_s)].map((value) => html("td", {}, String(value))),
    ...times.map((time) => html("td", {}, time ?? "–")),
  );
}

/** Return the times of each job in every plan; nothing if the pictures show other jobs. */
function timesOf(pictures, scenario) {
  if (!pictures || pictures.numJobs !== scenario.jobs.length) return [];
  return pictures.plans.map((plan) => {
    const times = Object.assign([], { label: plan.label });
    plan.gantt.job.forEach((job, at) => {
      if (pictures.jobs.name[job] === scenario.jobs[job].name) times[job] = `${duration(plan.gantt.start[at])} to ${duration(plan.gantt.finish[at])}`;
    });
    return times;
  });
}
