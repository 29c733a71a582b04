// The controls: the plan, a name to find, and the meaning of the link colours.

import { html } from "./dom.js";
import { labelOf, swatch } from "./summary.js";
import { shortened } from "./text.js";

/** All plans, one below the other. */
export const ALL = -1;

/** Return the controls above the pictures; they change `state` and redraw. */
export function controls(data, state, redraw, choose) {
  const items = [];
  if (data.plans.length > 1) items.push(planSwitch(data, state, redraw));
  const find = html("input", { type: "search", placeholder: "find a job", "aria-label": "Find a job by its name" });
  find.addEventListener("input", () => {
    state.find = find.value;
    redraw();
  });
  const whole = html("button", { type: "button", class: "whole" }, "zoom out");
  whole.addEventListener("click", () => choose(null));
  items.push(find, whole);
  return items;
}

function planSwitch(data, state, redraw) {
  const group = html("div", { class: "switch", role: "group", "aria-label": "Plan to show" });
  const entries = [...data.plans.map((plan, at) => [at, plan.label]), [ALL, "all"]];
  const buttons = entries.map(([at, label]) => {
    const button = html("button", { type: "button", "aria-pressed": at === state.shown });
    if (at !== ALL) button.append(swatch(data.planColours, at), " ");
    button.append(shortened(at === ALL ? label : labelOf(data.plans[at]), 28));
    button.addEventListener("click", () => {
      state.shown = at;
      buttons.forEach((each, place) => each.setAttribute("aria-pressed", entries[place][0] === at));
      redraw();
    });
    return button;
  });
  group.append(...buttons);
  return group;
}

/** Return the switch between numbers of jobs and bandwidth in use. */
export function modeSwitch(state, redraw) {
  const group = html("div", { class: "switch small", role: "group", "aria-label": "Colour links by" });
  for (const [mode, label] of [["jobs", "number of jobs"], ["load", "bandwidth in use"]]) {
    const button = html("button", { type: "button", "aria-pressed": state.mode === mode }, label);
    button.addEventListener("click", () => {
      state.mode = mode;
      redraw();
      document.querySelector(`#links .switch button[aria-pressed="true"]`).focus();
    });
    group.append(button);
  }
  return group;
}
