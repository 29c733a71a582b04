// The state in the address bar: every step is one of the browser's, so back undoes it.

import { keepToken } from "./api.js";
import { MOST_LETTERS, fragmentOf, stateOf } from "./share.js";
import { keptState } from "./state.js";

const QUIET_MS = 250; // addresses are written when things have settled
const SAME_STEP_MS = 3000; // turning one knob for a while is one step

/** Return `write` and `link`; `onTravel` is told that the user goes to another address, and returns what takes its state. */
export function address(onTravel) {
  let [timer, about, since] = [0, null, 0];
  let pending = Promise.resolve();
  const write = (state, what) => {
    const now = performance.now();
    const isSame = what === null || (what === about && now - since < SAME_STEP_MS);
    [about, since] = [what, now];
    const kept = keptState(state);
    const put = async () => {
      const fragment = await fragmentOf(kept);
      if (fragment.length > MOST_LETTERS || fragment === location.hash) return;
      history[isSame ? "replaceState" : "pushState"](null, "", fragment);
    };
    clearTimeout(timer);
    if (!isSame) pending = pending.then(put);
    else timer = setTimeout(() => {
      pending = pending.then(put);
    }, QUIET_MS);
  };
  const link = async (state) => {
    const fragment = await fragmentOf(keptState(state));
    return fragment.length > MOST_LETTERS ? null : new URL(fragment, location.href).href;
  };
  window.addEventListener("popstate", async () => {
    clearTimeout(timer);
    about = null;
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
