// Requests plans and pictures. Only the newest request counts; older ones are cancelled.

import { ask, pause } from "./api.js";
import { runSearch } from "./search.js";

const MOST_KEPT = 12; // results, for the back button
const PATIENCE_MS = 60; // delay while a slider moves; its first step is not delayed
const SEARCH_PATIENCE_MS = 400; // starting and cancelling a search is more work

/**
 * Return `request` and `stop`.
 *
 * `request` gets a scenario, requests for plans of it, and their labels. `onWork` receives whether work is in progress,
 * `onResult` plans and their pictures (several times during a search), `onFailure` an error with its `side`,
 * `onSearch` the progress of a search.
 */
export function planner({ onWork, onResult, onFailure, onSearch }) {
  const kept = new Map();
  let newest = new AbortController();
  let [stopSearches, since] = [[], -Infinity];
  const request = async (wanted, { again = false } = {}) => {
    newest.abort();
    newest = new AbortController();
    const { signal } = newest;
    const searches = wanted.requests.some(({ policy }) => policy === "search");
    const patience = performance.now() - since > 5 * PATIENCE_MS ? 0 : PATIENCE_MS;
    [stopSearches, since] = [[], performance.now()];
    onWork(true);
    try {
      await pause(searches ? SEARCH_PATIENCE_MS : patience, signal);
      await answer(wanted, signal, again);
    } catch (error) {
      if (!signal.aborted) onFailure(error);
    }
    if (!signal.aborted) onWork(false);
  };
  const answer = async (wanted, signal, again) => {
    const shown = presenter(wanted, signal, onResult);
    await Promise.all(wanted.requests.map(async (request, side) => {
      try {
        await shown.take(side, await planned(wanted, side, signal, again, shown));
      } catch (error) {
        throw Object.assign(error, { side });
      }
    }));
  };
  const planned = async (wanted, side, signal, again, shown) => {
    const request = wanted.requests[side];
    const alone = wanted.requests.length === 1;
    const key = JSON.stringify([wanted.scenario, request, alone]);
    if (kept.has(key) && !again) return kept.get(key);
    const body = { scenario: wanted.scenario, ...request };
    const found = request.policy === "search"
      ? await runSearch(body, signal, {
        onBetter: (better) => shown.take(side, better),
        onProgress: (progress) => {
          if (side === wanted.requests.findIndex(({ policy }) => policy === "search")) onSearch(progress);
        },
        onStop: (stop) => stopSearches.push(stop),
      })
      : await ask("POST", "/plan", { ...body, pictures: alone }, { signal });
    if (!signal.aborted) keep(key, found);
    return found;
  };
  const keep = (key, found) => {
    kept.set(key, found);
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
  };
  window.addEventListener("pagehide", () => newest.abort());
  return { request, stop: () => stopSearches.forEach((stop) => stop()) };
}

/** Return a function that shows plans as they arrive: a single plan with its pictures, two plans when both are there. */
function presenter({ scenario, labels }, signal, onResult) {
  const plans = labels.map(() => null);
  let [asking, again] = [null, false];
  const named = () => Object.fromEntries(labels.map((label, at) => [label, plans[at]]));
  const draw = async () => {
    do {
      again = false;
      const now = named();
      const pictures = await ask("POST", "/pictures", { scenario, plans: now }, { signal });
      if (!signal.aborted) onResult({ scenario, plans: now, pictures });
    } while (again);
    asking = null;
  };
  const take = async (side, { plan, pictures }) => {
    plans[side] = plan;
    if (signal.aborted || plans.includes(null)) return;
    if (labels.length === 1 && pictures) {
      onResult({ scenario, plans: named(), pictures: relabelled(pictures, labels) });
      return;
    }
    again = true; // the pending request is repeated with the newest plans
    asking ??= draw();
    await asking;
  };
  return { take };
}

function relabelled(pictures, labels) {
  return { ...pictures, plans: pictures.plans.map((plan, at) => ({ ...plan, label: labels[at] })) };
}
