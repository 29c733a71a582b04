// Shows that the server is unreachable or requires a token, and retries until it responds.

import { ask, hasToken, pause } from "./api.js";
import { banner } from "./notices.js";
import { tokenGiven } from "./token_form.js";

const AGAIN_MS = 2000;
let waiting = null;

/** Return the server's description, as soon as it responds. */
export function reached() {
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
      await resolved(error);
    }
  }
}

/** Show an error at the top of the page and wait until it may be resolved; rethrow errors that waiting cannot resolve. */
async function resolved(error) {
  if (error.gone) {
    banner(`${error.message} This page retries every two seconds.`);
    await pause(AGAIN_MS);
  } else if (error.locked) {
    await tokenGiven(hasToken() ? "This token is not valid. Copy it from the end of the address that `ringsched serve` printed." : error.message);
  } else {
    banner(error.message);
    throw error;
  }
}
