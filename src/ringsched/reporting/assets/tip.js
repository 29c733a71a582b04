// One tooltip for the whole page; screen readers announce its text.

import { html } from "./dom.js";
import { shortened } from "./text.js";

let tip = null;

function tipElement() {
  if (!tip) {
    tip = html("div", { id: "tip", role: "status", "aria-live": "polite" });
    tip.hidden = true;
    document.body.append(tip);
  }
  return tip;
}

/** Show a title and rows of [name, value] beside a point of the window. */
export function showTip(title, rows, x, y) {
  const element = tipElement();
  const list = html("dl");
  for (const [name, value] of rows) list.append(html("dt", {}, name), html("dd", {}, shortened(value, 140)));
  element.replaceChildren(html("strong", {}, shortened(title)), list);
  element.hidden = false;
  const box = element.getBoundingClientRect();
  const right = x + 14 + box.width <= window.innerWidth - 4;
  const under = y + 14 + box.height <= window.innerHeight - 4;
  element.style.left = `${Math.max(4, right ? x + 14 : x - 14 - box.width)}px`;
  element.style.top = `${Math.max(4, under ? y + 14 : y - 14 - box.height)}px`;
}

/** Hide the tooltip. */
export function hideTip() {
  if (tip) tip.hidden = true;
}
