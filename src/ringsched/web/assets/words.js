// What plans are worth, in plain words.

import { counted, shortened } from "./text.js";

const UNITS = [["day", 86400], ["h", 3600], ["min", 60], ["s", 1]];

/** Return a duration as one says it, such as "1 h 39 min" or "2.5 s". */
export function spoken(seconds) {
  const at = UNITS.findIndex(([, length]) => seconds >= length);
  if (at < 0 || at === UNITS.length - 1) return `${Number(seconds.toPrecision(3))} s`;
  const [[unit, length], [smaller, part]] = [UNITS[at], UNITS[at + 1]];
  let [whole, rest] = [Math.floor(seconds / length), Math.round((seconds % length) / part)];
  if (rest * part === length) [whole, rest] = [whole + 1, 0];
  const first = unit === "day" ? counted(whole, "day") : `${whole} ${unit}`;
  return rest ? `${first} ${rest} ${smaller}` : first;
}

/** Return a few sentences about plans by their labels. */
export function inWords(plans) {
  const entries = Object.entries(plans);
  return entries.length === 1 ? oneInWords(entries[0][1]) : twoInWords(entries);
}

function oneInWords(plan) {
  if (!plan.jobs.length) return "There are no jobs, so there is nothing to plan. Add one below.";
  const jobs = plan.jobs.length === 1 ? "The only job is" : `All ${plan.jobs.length} jobs are`;
  const done = `${jobs} done after ${spoken(plan.makespan_s)}, ${plan.jobs.length === 1 ? "that is" : "a job on average"} after ${spoken(plan.mean_completion_s)}.`;
  return `${plan.jobs.length === 1 ? `${jobs} done after ${spoken(plan.makespan_s)}.` : done} ${boundInWords(plan)}`;
}

function boundInWords(plan) {
  const what = plan.objective === "makespan" ? "No plan can end" : `No plan can have a ${plan.objective.replace("-", " ")}`;
  const before = `${plan.objective === "makespan" ? "before" : "below"} ${spoken(plan.lower_bound_s)}`;
  if (plan.gap <= 1 + 1e-9) return `${what} ${plan.objective === "makespan" ? "sooner" : "below that"}: it is the best possible.`;
  const more = plan.gap >= 2 ? `at most ${plan.gap.toFixed(1)} times the best possible` : `at most ${percent(plan.gap - 1)} above the best possible`;
  return `${what} ${before}: this one is ${more}.`;
}

function twoInWords(entries) {
  const [[one, first], [other, second]] = entries;
  if (!first.jobs.length) return oneInWords(first);
  const ends = entries.map(([label, plan]) => `${shortened(label)} ends after ${spoken(plan.makespan_s)}`).join(", ");
  return `${ends}. ${sooner(one, first, other, second)} No plan can ${first.objective === "makespan" ? "end before" : `have a ${first.objective.replace("-", " ")} below`} ${spoken(first.lower_bound_s)}.`;
}

function sooner(one, first, other, second) {
  if (first.makespan_s === second.makespan_s) return "They end at the same time.";
  const [better, quick, slow] = first.makespan_s < second.makespan_s ? [one, first, second] : [other, second, first];
  return `${shortened(better)} is done ${percent(1 - quick.makespan_s / slow.makespan_s)} sooner.`;
}

function percent(share) {
  return `${Number((100 * share).toPrecision(2))} %`;
}
