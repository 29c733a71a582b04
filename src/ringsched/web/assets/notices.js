// What is said in passing, and what is said until it is over.

import { button } from "./fields.js";

const PASSING_MS = 8000;
let timer = 0;

/** Say something for a while, with a button to act on it if there is one. */
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
    // Who is about to press the button is not left with nothing.
    if (!element.contains(document.activeElement)) element.hidden = true;
  }, PASSING_MS);
}

/** Take back an offer to act: what it was about is gone. */
export function withdrawOffer() {
  const element = document.getElementById("toast");
  if (element.querySelector("button")) element.hidden = true;
}

/** Say something at the top of the page until it is said otherwise, with a form to answer it if there is one; null takes it back. */
export function banner(text, form = "") {
  const element = document.getElementById("banner");
  element.replaceChildren(text ?? "", form);
  element.hidden = !text;
}
