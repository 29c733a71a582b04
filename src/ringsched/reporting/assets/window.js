// Zooming in on a time range: drag over a picture or press + and -; double-click or press 0 to zoom out.

import { svg } from "./dom.js";

const LEAST_PIXELS = 6; // a shorter drag is a click

/** Let the user select a time range; `onWindow` gets [from, to], or null for all. */
export function choosesWindow(picture, scale, top, bottom, onWindow) {
  let begun = null;
  const chosen = svg("rect", { class: "chosen", y: top, height: bottom - top, width: 0 });
  const pixelOf = (event) => {
    const box = picture.getBoundingClientRect();
    const pixel = ((event.clientX - box.left) / box.width) * picture.viewBox.baseVal.width;
    return Math.min(scale.last, Math.max(scale.first, pixel));
  };
  picture.append(chosen);
  picture.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType === "mouse") begun = pixelOf(event);
  });
  picture.addEventListener("pointermove", (event) => {
    if (begun === null) return;
    const now = pixelOf(event);
    chosen.setAttribute("x", Math.min(begun, now));
    chosen.setAttribute("width", Math.abs(now - begun));
  });
  picture.addEventListener("pointerup", (event) => {
    if (begun === null) return;
    const ends = [begun, pixelOf(event)].sort((one, other) => one - other);
    begun = null;
    chosen.setAttribute("width", 0);
    if (ends[1] - ends[0] >= LEAST_PIXELS) onWindow(ends.map(scale.back));
  });
  picture.addEventListener("pointerleave", () => {
    begun = null;
    chosen.setAttribute("width", 0);
  });
  picture.addEventListener("dblclick", () => onWindow(null));
  picture.addEventListener("keydown", (event) => {
    const factor = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
    if (factor) onWindow(around(scale, factor));
    if (event.key === "0") onWindow(null);
  });
}

function around(scale, factor) {
  const middle = (scale.from + scale.to) / 2;
  const half = ((scale.to - scale.from) / 2) * factor;
  return [middle - half, middle + half];
}

/** Return a time range clipped to 0 and the end, or null if it is everything. */
export function within(stretch, end) {
  if (!stretch) return null;
  const [from, to] = [Math.max(0, stretch[0]), Math.min(end, stretch[1])];
  return to - from >= end * 0.999 || !(to - from > end * 1e-5) ? null : [from, to];
}
