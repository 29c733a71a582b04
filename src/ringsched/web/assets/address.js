// The state in the address bar: every step is one of the browser's, so back undoes it.

import { keepToken } from "./api.js";
import { MOST_LETTERS, fragmentOf, shortFragmentOf, stateOf } from "./share.js";
import { keptState } from "./state.js";

const SAME_STEP_MS = 3000; // turning one knob for a while is one step
// Browsers take only so many addresses: Safari 100 in half a minute, Chromium 200. After these, one is written when things have settled.
const [MOST_AT_ONCE, PERIOD_MS, QUIET_MS] = [60, 30_000, 1000];

/** Return `write` and `link`; `onTravel` is told that the user goes to another address, and returns what takes its state. */
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
  /** Write at once, not when it is convenient: who reloads right after a click wants to see what the click did. */
  const write = (state, what) => {
    const now = performance.now();
    isStep ||= what !== null && (what !== about || now - since >= SAME_STEP_MS); // also if one is still to be written
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

/** Return the state that the address has: null if none, undefined if it cannot be read. A token is taken out of it. */
export async function current() {
  if (keepToken(location.hash.slice(1))) history.replaceState(null, "", location.pathname);
  try {
    return await stateOf(location.hash);
  } catch {
    return undefined;
  }
}
