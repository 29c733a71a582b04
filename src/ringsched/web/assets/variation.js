// Applies the network controls to a scenario, and adds, edits and removes jobs.

import { withServers } from "./servers.js";

const SWITCH_TABLES = ["racks", "switches"]; // of a scenario file; one level of switches is called racks

/** Return the planned scenario: with its number of servers, link speed and contention model. */
export function varied(scenario, network) {
  const factor = factorOf(scenario, network);
  const { cluster } = withServers(scenario, network.servers);
  return {
    ...scenario,
    cluster: factor === 1 ? cluster : faster(cluster, network.gbps, factor),
    contention: contentionOf(scenario.contention, network),
  };
}

/** Return the link speed relative to the scenario; the server validates text that is not a number. */
function factorOf({ cluster }, { gbps }) {
  return gbps === null || gbps === cluster.inter_server_gbps ? 1 : gbps / cluster.inter_server_gbps;
}

function faster(cluster, gbps, factor) {
  const all = { ...cluster, inter_server_gbps: gbps };
  if (!(factor > 0)) return all; // the server reports the error
  const scaled = (link) => (link.uplink_gbps === undefined ? link : { ...link, uplink_gbps: rounded(link.uplink_gbps * factor) });
  all.servers = cluster.servers.map(scaled);
  for (const table of SWITCH_TABLES.filter((each) => cluster[each])) {
    all[table] = Object.fromEntries(Object.entries(cluster[table]).map(([name, each]) => [name, scaled(each)]));
  }
  return all;
}

/** Return a number without floating-point rounding errors. */
export function rounded(number, figures = 12) {
  return Number(number.toPrecision(figures));
}

function contentionOf(own, { contention, lanes }) {
  const model = contention ?? own.model;
  const base = model === own.model ? own : { model, server_latency_ms: own.server_latency_ms };
  return model === "reserved" ? { ...base, lanes: lanes ?? own.lanes ?? 2 } : base;
}

/** Return how many servers, racks and switches have their own uplink speed. */
export function ownUplinks({ cluster }) {
  const own = (nodes) => nodes.filter((node) => node.uplink_gbps !== undefined).length;
  const [racks, switches] = SWITCH_TABLES.map((table) => own(Object.values(cluster[table] ?? {})));
  return { servers: own(cluster.servers), racks, switches };
}

/** Return the scenario with the job at an index replaced, or with a job added. */
export function withJob(scenario, at, job) {
  const jobs = [...scenario.jobs];
  jobs.splice(at, at < jobs.length ? 1 : 0, job);
  return { ...scenario, jobs };
}

/** Return the scenario without the job at an index. */
export function withoutJob(scenario, at) {
  return { ...scenario, jobs: scenario.jobs.filter((_, place) => place !== at) };
}

/** Return the scenario with a removed job restored at an index; if its name is taken by now, it gets a free one. */
export function withJobBack(scenario, at, job) {
  const jobs = [...scenario.jobs];
  const taken = jobs.some(({ name }) => name === job.name);
  jobs.splice(at, 0, taken ? { ...job, name: freeName(scenario) } : job);
  return { ...scenario, jobs };
}

/** Return whether two scenarios are the same. */
export function isSame(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Return a name that no job has. */
export function freeName({ jobs }) {
  const taken = new Set(jobs.map((job) => job.name));
  for (let number = jobs.length + 1; ; number += 1) if (!taken.has(`job-${number}`)) return `job-${number}`;
}
