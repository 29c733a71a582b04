// Adds, edits and removes jobs; removing can be undone.

import { button } from "./fields.js";
import { jobDialog } from "./job_dialog.js";
import { focusAgain, jobsTable } from "./jobs_table.js";
import { toast } from "./notices.js";
import { scenarioOf } from "./scenario_panel.js";
import { numServers, withServers } from "./servers.js";
import { counted, shortened } from "./text.js";
import { freeName, isSame, withJob, withJobBack, withoutJob } from "./variation.js";

/** Fill the section; return `show`. `pictures` returns the pictures of the newest plans, with the times of each job. */
export function jobsSection(about, { state, change, pictures }) {
  const save = async (at, job) => {
    const { scenario: own, network } = state();
    const count = numServers(own, network.servers); // the job must fit into them
    const isMore = count > own.cluster.servers.length;
    const checked = await scenarioOf(JSON.stringify(withJob(withServers(own, count), at, job)), "json");
    // A job that was accepted because of added servers needs them, so they become part of the scenario.
    const part = isMore ? { scenario: checked, network: { ...network, servers: null } } : { scenario: { ...checked, cluster: own.cluster } };
    change({ ...part, example: null }, `job ${checked.jobs.length} ${at}`);
  };
  const body = document.querySelector("#jobs .body");
  const open = jobDialog(about.catalogue, save, (at) => focusAgain(body, { does: "edit", at })); // the table was redrawn
  const add = () => open(state().scenario.jobs.length, null, freeName(state().scenario));
  const remove = (at) => {
    const before = state();
    const { jobs } = before.scenario;
    change({ scenario: withoutJob(before.scenario, at), example: null }, `remove ${jobs.length}`);
    const putBack = () => {
      const scenario = withJobBack(state().scenario, at, jobs[at]);
      change({ scenario, example: isSame(scenario, before.scenario) ? before.example : null }, "undo");
    };
    toast(`${shortened(jobs[at].name, 40)} removed, ${counted(jobs.length - 1, "job")} left.`, { text: "Undo", act: putBack });
  };
  const table = jobsTable(body, { edit: (at) => open(at, state().scenario.jobs[at]), remove });
  document.getElementById("controls").prepend(button("Add job …", add, { class: "main" }));
  return { show: () => table(state().scenario, pictures(), state().view.find) };
}
