// The tooltip of a job.

import { placeText } from "./rows.js";
import { duration } from "./text.js";
import { showTip } from "./tip.js";

/** Show the details of the job that is `at` in the plan. */
export function jobTip(data, at, x, y) {
  const { gantt, jobs, losses } = data;
  const job = gantt.job[at];
  const [start, finish] = [gantt.start[at], gantt.finish[at]];
  const rows = [
    ["GPUs", `${jobs.gpus[job]} on ${placeText(data.cluster, gantt.runs[at]) || "no known server"}`],
    ["runs", `${duration(start)} to ${duration(finish)}, for ${duration(finish - start)}`],
  ];
  if (start > jobs.submit[job]) rows.push(["waits", duration(start - jobs.submit[job])]);
  const slow = gantt.slow[at];
  if (slow.length) {
    let [time, worst] = [0, 1];
    for (let part = 0; part < slow.length; part += 3) {
      time += slow[part + 1] - slow[part];
      worst = Math.max(worst, slow[part + 2]);
    }
    rows.push(["slowed by contention", `for ${duration(time)}; an iteration takes up to ${worst.toFixed(2)} times as long`]);
  }
  if (losses) {
    if (losses.contention[job] > 0) rows.push(["lost to contention", duration(losses.contention[job])]);
    if (losses.spreading[job] > 0) rows.push(["lost to spreading", duration(losses.spreading[job])]);
  }
  showTip(jobs.name[job], rows, x, y);
}

/** Return the indices of the jobs that cross a link at a time: some of their rows are below it, some are not. */
export function jobsOnLink(data, link, time) {
  const { gantt } = data;
  const present = [];
  for (let at = 0; at < gantt.job.length; at += 1) {
    if (gantt.start[at] > time || gantt.finish[at] <= time) continue;
    let [below, all] = [0, 0];
    for (let run = 0; run < gantt.runs[at].length; run += 2) {
      const [row, count] = [gantt.runs[at][run], gantt.runs[at][run + 1]];
      all += count;
      if (row >= link.row && row < link.row + link.rows) below += count;
    }
    if (below > 0 && below < all) present.push(gantt.job[at]);
  }
  return present;
}

/** Return the names of the first few jobs. */
export function jobNames(data, numbers, most = 5) {
  const names = numbers.slice(0, most).map((job) => data.jobs.name[job]);
  const more = numbers.length - most;
  return names.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
