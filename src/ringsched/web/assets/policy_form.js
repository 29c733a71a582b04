// The parameters of one policy; those without effect are disabled.

import { html } from "./dom.js";
import { field, numberInput, select, setHint, setValue, typed } from "./fields.js";

const KNOBS = [
  ["kappa", "kappa", "jobs up to this size are packed"],
  ["slack", "lambda", "server slack of larger jobs"],
  ["theta", "theta", "largest load of a GPU"],
  ["seed", "seed", "random seed"],
];

/** Return the form of a policy, and a function that shows a side of the state; `onChange` gets what changes. */
export function policyForm(about, title, onChange) {
  const policy = select(about.policies.map(({ name }) => [name, name]));
  const order = select([]);
  const knobs = KNOBS.map(([name, label, hint]) => {
    const control = numberInput();
    control.addEventListener("input", () => onChange({ [name]: typed(control.value) }, name));
    return { name, hint, control, wrapper: field(name, label, control, hint) };
  });
  policy.addEventListener("change", () => onChange({ policy: policy.value }, "policy"));
  order.addEventListener("change", () => onChange({ order: order.value || null }, "order"));
  const policyField = field("policy", "policy", policy);
  const element = html(
    "fieldset", { class: "side" },
    html("legend", {}, title), policyField, field("order", "order", order),
    html("div", { class: "pair" }, ...knobs.slice(0, 2).map((knob) => knob.wrapper)),
    html("details", {}, html("summary", {}, "theta, seed"), html("div", { class: "pair" }, ...knobs.slice(2).map((knob) => knob.wrapper))),
  );
  const show = (side) => {
    const chosen = about.policies.find((each) => each.name === side.policy);
    policy.value = side.policy;
    setHint(policyField, chosen ? chosen.summary : "");
    showOrders(order, side, chosen, about.orders);
    for (const knob of knobs) showKnob(knob, side[knob.name], Boolean(chosen?.options.includes(knob.name === "slack" ? "server-slack" : knob.name)));
  };
  return { element, show };
}

function showOrders(order, side, chosen, orders) {
  const own = chosen && chosen.order !== "any";
  const options = [["", own ? `${chosen.order} (default)` : "chosen by the policy"], ...orders.map((each) => [each, each])];
  order.replaceChildren(...options.map(([value, text]) => html("option", { value }, text)));
  order.disabled = !own;
  order.value = own ? side.order ?? "" : "";
}

function showKnob({ name, hint, control, wrapper }, value, means) {
  setHint(wrapper, means ? hint : "");
  control.disabled = !means;
  control.placeholder = means ? { slack: "as in the job", seed: "0" }[name] ?? "searched" : "no effect";
  setValue(control, means ? value : null);
}
