// A server that is gone may come back, and one that wants a token be given it: say so, and ask again until it answers.

import { ask, hasToken, pause } from "./api.js";
import { banner } from "./notices.js";
import { tokenGiven } from "./token_form.js";

const AGAIN_MS = 2000;
let waiting = null;

/** Return what the server says of itself, as soon as it says anything. */
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
      await mended(error);
    }
  }
}

/** Wait for what may mend an error, and say so at the top of the page; raise it if nothing does. */
async function mended(error) {
  if (error.gone) {
    banner(`${error.message} This page asks again every two seconds.`);
    await pause(AGAIN_MS);
  } else if (error.locked) {
    await tokenGiven(hasToken() ? "This is not the server's token: it is at the end of the address that `ringsched serve` printed." : error.message);
  } else {
    banner(error.message);
    throw error;
  }
}
