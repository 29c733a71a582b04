// Messages: a toast for a short time, and a banner until it is replaced.

import { button } from "./fields.js";

const PASSING_MS = 8000;
let timer = 0;

/** Show a message for a short time, with an optional button. */
export function toast(text, action = null) {
  const element = document.getElementById("toast");
  clearTimeout(timer);
  element.replaceChildren(text);
  if (action) element.append(" ", button(action.text, () => {
    element.hidden = true;
    action.act();
  }));
  element.hidden = false;
  timer = setTimeout(() => {
    // The toast stays while its button has the focus or the pointer.
    if (!element.contains(document.activeElement)) element.hidden = true;
  }, PASSING_MS);
}

/** Remove a toast whose button no longer applies. */
export function withdrawOffer() {
  const element = document.getElementById("toast");
  if (element.querySelector("button")) element.hidden = true;
}

/** Show a message at the top of the page until it is replaced, with an optional form; null removes it. */
export function banner(text, form = "") {
  const element = document.getElementById("banner");
  element.replaceChildren(text ?? "", form);
  element.hidden = !text;
}
