// The scenario with more servers, or fewer.

const MOST = 10_000; // made here; whether that is too many for it the server says

/** Return whether this can be a number of servers. */
export function isCount(value) {
  return Number.isInteger(value) && value >= 1 && value <= MOST;
}

/** Return how many servers there are with a knob, which may say nothing or nonsense. */
export function numServers({ cluster }, count) {
  return isCount(count) ? count : cluster.servers.length;
}

/** Return the scenario with so many servers: the last ones go first, and new ones are like the last. */
export function withServers(scenario, count) {
  const { servers } = scenario.cluster;
  if (count === null || count === servers.length) return scenario;
  if (!isCount(count)) return { ...scenario, cluster: { ...scenario.cluster, servers: [{ ...kindOf(servers), count }] } }; // the server says what is wrong
  const more = count > servers.length ? newServers(servers, count - servers.length) : [];
  return { ...scenario, cluster: { ...scenario.cluster, servers: [...servers.slice(0, count), ...more] } };
}

/** Return what a new server is like: the last one, with none of its GPUs out of use. */
export function kindOf(servers) {
  const { unavailable, ...kind } = servers.at(-1);
  return kind;
}

/** Return servers that count on from the name of the last: node-3, node-4, or b-07, b-08. */
function newServers(servers, count) {
  const kind = kindOf(servers);
  const taken = new Set(servers.map(({ name }) => name));
  const [, stem, digits] = /^(.*?)(\d{0,9})$/u.exec(kind.name);
  const named = (number) => (digits ? `${stem}${String(number).padStart(digits.length, "0")}` : `${stem}-${number}`);
  const made = [];
  for (let number = Number(digits || 1) + 1; made.length < count; number += 1) {
    if (!taken.has(named(number))) made.push({ ...kind, name: named(number) });
  }
  return made;
}
