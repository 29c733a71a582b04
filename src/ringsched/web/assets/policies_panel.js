// The policy panel: one policy or two to compare, the objective, and the search.

import { html } from "./dom.js";
import { button, field, numberInput, select, setValue, typed } from "./fields.js";
import { policyForm } from "./policy_form.js";
import { freshSide } from "./state.js";

/** Fill the panel; `change` gets a new part of the state and the name of the control. */
export function policiesPanel(root, about, { state, change, searchAgain }) {
  const forms = [0, 1].map((at) => policyForm(about, at ? "Second policy" : "First policy", (part, what) => {
    const side = part.policy ? { ...state().sides[at], ...part, order: null } : { ...state().sides[at], ...part };
    change({ sides: state().sides.map((each, place) => (place === at ? side : each)) }, `${what} ${at}`);
  }));
  const compare = html("input", { type: "checkbox", id: "compare" });
  compare.addEventListener("change", () => change({ compare: compare.checked, sides: different(state().sides) }, "compare"));
  const objective = select(about.objectives.map((each) => [each, each.replaceAll("-", " ")]));
  objective.addEventListener("change", () => change({ objective: objective.value }, "objective"));
  const seconds = numberInput();
  seconds.addEventListener("change", () => change({ seconds: typed(seconds.value) ?? 10 }, "seconds"));
  const search = button("Search for a better plan", () => {
    if (state().sides[0].policy === "search") searchAgain();
    else change({ sides: [freshSide("search"), state().sides[1]] }, "policy 0");
  }, { class: "main" });
  root.append(
    forms[0].element,
    html("div", { class: "check" }, compare, html("label", { for: "compare" }, "compare with another policy")),
    forms[1].element,
    field("objective", "aim", objective),
    html("div", { class: "row" }, search), field("time_limit_s", "time limit, s", seconds, "", "the time limit"),
  );
  const show = (now) => {
    forms.forEach((form, at) => form.show(now.sides[at]));
    root.classList.toggle("compares", now.compare);
    forms[1].element.hidden = !now.compare;
    compare.checked = now.compare;
    objective.value = now.objective;
    setValue(seconds, now.seconds);
  };
  return { show };
}

/** Return two sides to compare; if both have the same policy, the second one changes. */
function different([first, second]) {
  if (first.policy !== second.policy) return [first, second];
  return [first, freshSide(first.policy === "sjf-bco" ? "longest-first" : "sjf-bco")];
}
