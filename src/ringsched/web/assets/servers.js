// Changes the number of servers of a scenario.

const MOST = 10_000; // created here; the server checks its own limit

/** Return whether this can be a number of servers. */
export function isCount(value) {
  return Number.isInteger(value) && value >= 1 && value <= MOST;
}

/** Return the number of servers for a control value, which may be empty or invalid. */
export function numServers({ cluster }, count) {
  return isCount(count) ? count : cluster.servers.length;
}

/** Return the scenario with this many servers: the last ones are removed, and new ones copy the last. */
export function withServers(scenario, count) {
  const { servers } = scenario.cluster;
  if (count === null || count === servers.length) return scenario;
  if (!isCount(count)) return { ...scenario, cluster: { ...scenario.cluster, servers: [{ ...kindOf(servers), count }] } }; // the server reports the error
  const more = count > servers.length ? newServers(servers, count - servers.length) : [];
  return { ...scenario, cluster: { ...scenario.cluster, servers: [...servers.slice(0, count), ...more] } };
}

/** Return a new server like the last one, with all GPUs available. */
export function kindOf(servers) {
  const { unavailable, ...kind } = servers.at(-1);
  return kind;
}

/** Return servers whose names continue that of the last: node-3, node-4, or b-07, b-08. */
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
