// A summary of plans in words.

import { duration, figure, percentAbove, shortened } from "./text.js";

/** Return a few sentences about plans, given by label. */
export function inWords(plans) {
  const entries = Object.entries(plans);
  if (!entries[0][1].jobs.length) return "There are no jobs, so there is nothing to plan. Add one.";
  return entries.length === 1 ? oneInWords(entries[0][1]) : twoInWords(entries);
}

function oneInWords(plan) {
  const [end, mean] = [duration(plan.makespan_s), duration(plan.mean_completion_s)];
  const done = plan.jobs.length === 1 ? `The only job ends after ${end}.` : `All ${plan.jobs.length} jobs end within ${end}; the mean completion is ${mean}.`;
  if (plan.params?.proof) return `${done} Policy ${plan.policy} proved it ${plan.params.proof}.`;
  if (plan.gap <= 1 + 1e-9) return `${done} ${noPlan(plan, "sooner", "below that")}, so it is optimal.`;
  return `${done} ${boundInWords(plan)}: this one is at most ${percentAbove(plan.gap)} above the best possible.`;
}

function twoInWords([[one, first], [other, second]]) {
  const ends = `${shortened(one)} ends after ${duration(first.makespan_s)}, ${shortened(other)} after ${duration(second.makespan_s)}.`;
  return `${ends} ${soonerInWords(one, first, other, second)} ${boundInWords(first)}.`;
}

function soonerInWords(one, first, other, second) {
  if (first.makespan_s === second.makespan_s) return "They end at the same time.";
  const [better, quick, slow] = first.makespan_s < second.makespan_s ? [one, first, second] : [other, second, first];
  return `${shortened(better)} ends ${percent(1 - quick.makespan_s / slow.makespan_s)} sooner.`;
}

function boundInWords(plan) {
  const bound = (plan.objective === "max-slowdown" ? figure : duration)(plan.lower_bound_s);
  return noPlan(plan, `before ${bound}`, `below ${bound}`);
}

/** Return the lower bound in words: no plan can end then, or have a smaller mean. */
function noPlan({ objective }, then, there) {
  return objective === "makespan" ? `No plan can end ${then}` : `No plan can have a ${objective.replace("-", " ")} ${there}`;
}

function percent(share) {
  return `${Number((100 * share).toPrecision(2))} %`;
}
