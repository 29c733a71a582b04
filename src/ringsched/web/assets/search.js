// One search on the server: begun, watched, stopped.

import { ApiError, ask, events } from "./api.js";

/**
 * Run a search and return its end: `plan` and `pictures`.
 *
 * `onProgress` gets how far it is, `onBetter` a better plan with its pictures, `onStop` a function that ends the search
 * with what it has. When nobody wants it any more, the search is ended on the server too.
 */
export async function runSearch(body, signal, { onProgress, onBetter, onStop }) {
  const { id } = await ask("POST", "/searches", body); // not called off halfway: its name is needed to stop it
  const path = `/searches/${encodeURIComponent(id)}`;
  const forget = () => ask("DELETE", path, undefined, { keepalive: true }).catch(() => {}); // nobody is left to tell
  if (signal.aborted) return forget();
  signal.addEventListener("abort", forget);
  onStop(() => ask("DELETE", path).catch(() => {})); // the end comes as an event
  onProgress({ state: "waiting" });
  try {
    const end = await watched(path, signal, { onProgress, onBetter });
    onProgress({ ...end.progress, state: end.state });
    if (end.error || !end.plan) throw new ApiError(end.error ?? { message: "The search was stopped before it had a plan." });
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
  return ask("GET", path, undefined, { signal }); // the stream broke off, the search may have not
}
