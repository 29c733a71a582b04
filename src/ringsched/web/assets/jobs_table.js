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
    if (!found.length) {
      body.replaceChildren(html("p", { class: "note" }, scenario.jobs.length ? "No job has such a name." : "There is no job yet."));
      return;
    }
    const times = timesOf(pictures, scenario);
    const rows = found.slice(0, most).map((at) => row(scenario.jobs[at], at, times.map((each) => each[at]), edit, remove));
    const heads = [
      "job", "GPUs", "iterations", "gradients", "submitted",
      ...times.map((each) => (times.length > 1 ? `${shortened(each.label, 18)}: runs` : "runs")), "",
    ];
    const head = html("tr", {}, ...heads.map((name) => html("th", { scope: "col" }, name)));
    body.replaceChildren(html("div", { class: "scrolls" }, html("table", { class: "jobs" }, html("thead", {}, head), html("tbody", {}, ...rows))));
    if (found.length > most) body.append(html("p", {}, button(`Show all ${found.length} jobs`, () => {
      most = Infinity;
      show(scenario, pictures, find);
    })));
  };
  return show;
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
      button("Edit", () => edit(at), { "aria-label": `Edit ${name}` }), " ",
      button("Remove", () => remove(at), { "aria-label": `Remove ${name}` }),
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
