// A server that is gone may come back: say so, and ask again until it does.

import { ask, pause } from "./api.js";
import { banner } from "./notices.js";

const AGAIN_MS = 2000;
let waiting = null;

/** Return what the server says of itself, as soon as it says anything. */
export async function reached() {
  try {
    return await ask("GET", "/about");
  } catch (error) {
    say(error);
    return recovered();
  }
}

/** Wait until the server answers again; returns what it says of itself. */
export function recovered() {
  waiting ??= asking().finally(() => {
    waiting = null;
  });
  return waiting;
}

async function asking() {
  for (;;) {
    try {
      const about = await ask("GET", "/about");
      banner(null);
      return about;
    } catch (error) {
      say(error);
    }
    await pause(AGAIN_MS);
  }
}

/** Say what is wrong at the top of the page; raise it, too, if waiting does not help. */
function say(error) {
  banner(error.gone ? `${error.message} This page asks again every two seconds.` : error.message);
  if (!error.gone) throw error;
}
