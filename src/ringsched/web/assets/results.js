// The pictures and the summary of the newest plans.

import { controls } from "./controls.js";
import { curveLegend } from "./legends.js";
import { drawPictures, followWidth } from "./pictures.js";
import { steadily } from "./steady.js";
import { inWords } from "./words.js";
import { within } from "./window.js";

/** Return a function that shows plans; `view` returns the current view, `onView` is called when it changes. */
export function results({ view, onView, onDrawn }) {
  const root = document.getElementById("results");
  const body = (id) => document.querySelector(`#${id} .body`);
  const parts = {
    summary: document.getElementById("figures"), curves: document.getElementById("curves"),
    gantt: body("gantt"), links: body("links"), blame: body("blame"),
  };
  const said = document.getElementById("words");
  let newest = null;
  const redraw = () => {
    if (newest) steadily([...root.querySelectorAll("section")], draw);
  };
  const draw = () => {
    const { pictures, plans } = newest;
    const words = inWords(plans);
    if (said.textContent !== words) said.textContent = words; // otherwise a screen reader would repeat it
    view().window = within(view().window, pictures.span);
    root.classList.toggle("several", pictures.plans.length > 1);
    document.getElementById("curve-legend").replaceChildren(curveLegend(pictures));
    drawPictures(parts, pictures, view(), choose, changed);
    onDrawn(newest);
  };
  const changed = () => {
    redraw();
    onView();
  };
  const choose = (stretch) => {
    view().window = stretch;
    changed();
  };
  const bar = document.getElementById("controls");
  const choices = { get find() { return view().find; }, set find(text) { view().find = text; } };
  bar.append(...controls({ plans: [] }, choices, changed, choose));
  followWidth(root, redraw);
  const show = (answer) => {
    newest = answer;
    root.classList.remove("empty");
    redraw();
  };
  const find = bar.querySelector("input");
  const showFind = () => {
    if (find.value !== view().find) find.value = view().find;
  };
  return { show, showFind, answer: () => newest };
}
