// Jobs: added, changed and removed; what was removed can be had back.

import { button } from "./fields.js";
import { jobDialog } from "./job_dialog.js";
import { focusAgain, jobsTable } from "./jobs_table.js";
import { toast } from "./notices.js";
import { scenarioOf } from "./scenario_panel.js";
import { numServers, withServers } from "./servers.js";
import { counted, shortened } from "./text.js";
import { freeName, isSame, withJob, withJobBack, withoutJob } from "./variation.js";

/** Fill the section; returns `show`. `pictures` returns those of the newest plans, for when each job runs. */
export function jobsSection(about, { state, change, pictures }) {
  const save = async (at, job) => {
    const { scenario: own, network } = state();
    const count = numServers(own, network.servers); // what the job has to fit into
    const isMore = count > own.cluster.servers.length;
    const checked = await scenarioOf(JSON.stringify(withJob(withServers(own, count), at, job)), "json");
    // A job that was let in because of more servers needs them: they are the scenario's own now.
    const part = isMore ? { scenario: checked, network: { ...network, servers: null } } : { scenario: { ...checked, cluster: own.cluster } };
    change({ ...part, example: null }, `job ${checked.jobs.length} ${at}`);
  };
  const body = document.querySelector("#jobs .body");
  const open = jobDialog(about.catalogue, save, (at) => focusAgain(body, { does: "edit", at })); // the table was drawn anew
  const add = () => open(state().scenario.jobs.length, null, freeName(state().scenario));
  const remove = (at) => {
    const before = state();
    const { jobs } = before.scenario;
    change({ scenario: withoutJob(before.scenario, at), example: null }, `remove ${jobs.length}`);
    const putBack = () => {
      const scenario = withJobBack(state().scenario, at, jobs[at]);
      change({ scenario, example: isSame(scenario, before.scenario) ? before.example : null }, "undo");
    };
    toast(`${shortened(jobs[at].name, 40)} is removed, ${counted(jobs.length - 1, "job")} left.`, { text: "Undo", act: putBack });
  };
  const table = jobsTable(body, { edit: (at) => open(at, state().scenario.jobs[at]), remove });
  document.getElementById("controls").prepend(button("Add a job …", add, { class: "main" }));
  return { show: () => table(state().scenario, pictures(), state().view.find) };
}
