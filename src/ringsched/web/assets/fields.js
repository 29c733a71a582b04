// Form fields: a label, the control, a hint, and a place for its error.

import { freshId, html } from "./dom.js";

/** Return a labelled control; `name` holds the server's names of the field, `said` is its name in messages. */
export function field(name, label, control, hint = "", said = label.split(",")[0]) {
  const id = freshId("field");
  control.id = id;
  control.setAttribute("aria-describedby", `${id}-hint ${id}-wrong`);
  return html(
    "div", { class: "field", "data-field": name, "data-said": said },
    html("label", { for: id }, label), control,
    html("span", { class: "hint note", id: `${id}-hint` }, hint),
    html("span", { class: "wrong", id: `${id}-wrong`, role: "alert" }),
  );
}

/** Return a text control for a number; the server validates what the user typed. */
export function numberInput(attributes = {}) {
  return html("input", { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", ...attributes });
}

/** Return a select with options given as [value, text]. */
export function select(options, attributes = {}) {
  return html("select", attributes, ...options.map(([value, text]) => html("option", { value }, text)));
}

/** Return what the user typed: null if empty, a number if it is one, otherwise the text. */
export function typed(text) {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  return Number.isFinite(Number(trimmed)) && /^[-+\d.]/.test(trimmed) ? Number(trimmed) : trimmed;
}

/** Change a hint. */
export function setHint(wrapper, text) {
  wrapper.querySelector(".hint").textContent = text;
}

/** Show a value, unless the user is editing the field. */
export function setValue(control, value) {
  const isCleared = control.value === "" && document.activeElement === control;
  if (!isCleared && typed(control.value) !== (value ?? null)) control.value = String(value ?? "");
}

/** Show an error at its field, with the page's name of the field; return whether there is such a field. */
export function complain(root, { field: name, short }) {
  const wrappers = [...root.querySelectorAll("[data-field]")];
  const wrapper = wrappers.find((each) => each.dataset.field.split(" ").includes(name));
  if (!wrapper) return false;
  const sentence = short.startsWith(`${name} `) ? `${wrapper.dataset.said}${short.slice(name.length)}` : short;
  wrapper.closest("details")?.setAttribute("open", "");
  wrapper.querySelector(".wrong").textContent = inPageWords(sentence, wrappers);
  wrapper.querySelector("input, select").setAttribute("aria-invalid", "true");
  return true;
}

/** Return a message in which other fields also have their names on the page; names without an underscore may be ordinary words. */
function inPageWords(sentence, wrappers) {
  const said = new Map(wrappers.map(({ dataset }) => [dataset.field, dataset.said]));
  return sentence.replaceAll(/\w+_\w+/g, (word) => said.get(word) ?? word);
}

/** Remove all errors. */
export function forgive(root) {
  for (const each of root.querySelectorAll(".wrong")) if (each.textContent) each.textContent = "";
  for (const each of root.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
}

/** Return a button with an action. */
export function button(text, act, attributes = {}) {
  const element = html("button", { type: "button", ...attributes }, text);
  element.addEventListener("click", act);
  return element;
}
