// Keeps the state in the address bar. Every step is a history entry, so the browser's back button undoes it.

import { keepToken } from "./api.js";
import { MOST_LETTERS, fragmentOf, shortFragmentOf, stateOf } from "./share.js";
import { keptState } from "./state.js";

const SAME_STEP_MS = 3000; // quick changes of one control are one step
// Browsers limit address changes: Safari to 100 in half a minute, Chromium to 200. Beyond that, the last state is written after a pause.
const [MOST_AT_ONCE, PERIOD_MS, QUIET_MS] = [60, 30_000, 1000];

/** Return `write` and `link`. `onTravel` is called when the user navigates, and returns a function that receives the new state. */
export function address(onTravel) {
  let [timer, about, since, isStep] = [0, null, 0, false];
  let times = []; // of the newest writes
  const put = (state) => {
    const fragment = fragmentOf(keptState(state));
    const act = isStep ? "pushState" : "replaceState";
    isStep = false;
    if (fragment.length > MOST_LETTERS || fragment === location.hash) return;
    times.push(performance.now());
    history[act](null, "", fragment);
  };
  /** Write immediately, so that a reload right after a click shows its effect. */
  const write = (state, what) => {
    const now = performance.now();
    isStep ||= what !== null && (what !== about || now - since >= SAME_STEP_MS); // also if a write is pending
    [about, since] = [what, now];
    clearTimeout(timer);
    times = times.filter((time) => now - time < PERIOD_MS);
    if (times.length < MOST_AT_ONCE) put(state);
    else timer = setTimeout(() => put(state), QUIET_MS);
  };
  const link = async (state) => {
    const fragment = await shortFragmentOf(keptState(state));
    return fragment.length > MOST_LETTERS ? null : new URL(fragment, location.href).href;
  };
  window.addEventListener("popstate", async () => {
    clearTimeout(timer);
    [about, isStep] = [null, false];
    const arrive = onTravel();
    arrive(await current());
  });
  return { write, link };
}

/** Return the state in the address: null if there is none, undefined if it is invalid. Removes a token from the address. */
export async function current() {
  if (keepToken(location.hash.slice(1))) history.replaceState(null, "", location.pathname);
  try {
    return await stateOf(location.hash);
  } catch {
    return undefined;
  }
}
