// Starts, follows and stops a search on the server.

import { ApiError, ask, events } from "./api.js";

/**
 * Run a search and return its result: `plan` and `pictures`.
 *
 * `onProgress` gets the progress, `onBetter` a better plan with its pictures, `onStop` a function that ends the search
 * with its best plan. When the request is cancelled, the search is also stopped on the server.
 */
export async function runSearch(body, signal, { onProgress, onBetter, onStop }) {
  const { id } = await ask("POST", "/searches", body); // not cancelled, because its id is needed to stop it
  const path = `/searches/${encodeURIComponent(id)}`;
  const forget = () => ask("DELETE", path, undefined, { keepalive: true }).catch(() => {}); // the result no longer matters
  if (signal.aborted) return forget();
  signal.addEventListener("abort", forget);
  onStop(() => ask("DELETE", path).catch(() => {})); // the result arrives as an event
  onProgress({ state: "waiting" });
  try {
    const end = await watched(path, signal, { onProgress, onBetter });
    const ended = end.state === "done" ? end.pictures?.plans[0].summary.ended : null; // the other states say it
    onProgress({ ...end.progress, state: end.state, ended });
    if (end.error || !end.plan) throw new ApiError(end.error ?? { message: "The search was stopped before it found a plan." });
    return end;
  } finally {
    signal.removeEventListener("abort", forget);
  }
}

async function watched(path, signal, { onProgress, onBetter }) {
  for await (const [name, data] of events(`${path}/events`, signal)) {
    if (name === "progress") onProgress({ ...data, state: "running" });
    else if (name === "better") await onBetter(data);
    else if (name === "end") return data;
  }
  return ask("GET", path, undefined, { signal }); // the stream was interrupted, but the search may still run
}
