// The dialog to add or edit a job. The server validates it, and errors appear at their fields.

import { ApiError } from "./api.js";
import { html } from "./dom.js";
import { button, complain, field, forgive, numberInput, select, typed } from "./fields.js";

const MODEL_FIELDS = ["gradient_mb", "minibatch", "forward_ms", "backward_ms"];
const FIELDS = [
  ["gpus", "GPUs", ""],
  ["iterations", "iterations", ""],
  ["gradient_mb", "gradients, MB", ""],
  ["minibatch", "samples per GPU", "minibatch"],
  ["forward_ms", "forward, ms", "per sample"],
  ["backward_ms", "backward, ms", "per iteration"],
];
const MORE = [
  ["submit_s", "submitted at, s", "default 0", "the time of submission"],
  ["weight", "weight", "of its completion; default 1"],
  ["server_slack", "lambda of this job", "server_slack; default 1"],
  ["buckets", "gradient buckets", "default 1: no overlap with the backward pass"],
  ["estimate_s", "estimate, s", "the user's estimate; default: best case"],
];
const FRESH = { gpus: 4, iterations: 10000 };

/**
 * Return a function that opens the dialog.
 *
 * `save` gets the index of the job and the job, and throws if it is invalid. When the dialog closes, the focus returns to the
 * element that opened it; if that is gone, `onLost` gets the index of the job.
 */
export function jobDialog(catalogue, save, onLost) {
  const dialog = html("dialog", { "aria-label": "Job" });
  const inputs = new Map([["name", html("input", { type: "text", autocomplete: "off", spellcheck: "false" })]]);
  for (const [name] of [...FIELDS, ...MORE]) inputs.set(name, numberInput());
  const model = select([["", "custom"], ...Object.keys(catalogue).map((each) => [each, each])]);
  model.addEventListener("change", () => {
    for (const name of MODEL_FIELDS) if (model.value) inputs.get(name).value = catalogue[model.value][name];
  });
  const made = (fields) => fields.map(([name, label, hint, said]) => field(name, label, inputs.get(name), hint, said));
  const [title, wrong] = [html("h2"), html("p", { class: "wrong", role: "alert" })];
  const form = html(
    "form", { method: "dialog" }, title,
    field("name", "name", inputs.get("name")),
    field("model", "fill in from", model, "a catalogue model"),
    html("div", { class: "pair" }, ...made(FIELDS)),
    html("details", {}, html("summary", {}, "more"), html("div", { class: "pair" }, ...made(MORE))),
    wrong,
    html("div", { class: "row" }, html("button", { type: "submit", class: "main" }, "Save"), button("Cancel", () => dialog.close())),
  );
  dialog.append(form);
  document.body.append(dialog);
  let [at, before, opener] = [0, {}, null];
  dialog.addEventListener("close", () => opener.isConnected || onLost(at));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    forgive(form);
    try {
      await save(at, jobIn(inputs, before));
      dialog.close();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!complain(form, error)) wrong.textContent = error.message;
      form.querySelector("[aria-invalid]")?.focus();
    }
  });
  return (number, job, name) => {
    [at, before, opener] = [number, job ?? { ...FRESH, ...Object.values(catalogue)[0] }, document.activeElement];
    forgive(form);
    title.textContent = job ? "Edit job" : "Add job";
    model.value = job ? "" : Object.keys(catalogue)[0] ?? "";
    for (const [key, input] of inputs) input.value = before[key] ?? "";
    if (!job) inputs.get("name").value = name;
    dialog.showModal();
    inputs.get("name").select();
  };
}

/** Return the job as typed; fields that are not in the form keep their values. */
function jobIn(inputs, before) {
  const job = { ...before };
  for (const [key, input] of inputs) {
    const value = key === "name" ? input.value : typed(input.value);
    if (value === null) delete job[key];
    else job[key] = value;
  }
  return job;
}
