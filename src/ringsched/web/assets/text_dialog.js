// The scenario as text, to paste another one or to change fields without a control.

import { ApiError } from "./api.js";
import { html } from "./dom.js";
import { button } from "./fields.js";

/** Return a function that opens the dialog; `check` returns the scenario of a text or throws, `load` gets it unless the user cancelled. */
export function textDialog(check, load) {
  let openings = 0;
  const text = html("textarea", { "aria-label": "Scenario as text", spellcheck: "false", rows: 24 });
  const wrong = html("p", { class: "wrong", role: "alert" });
  const dialog = html("dialog", { "aria-label": "Scenario as text" });
  const form = html(
    "form", { method: "dialog" },
    html("h2", {}, "Scenario as text"),
    html("p", { class: "note" }, "Edit it, or paste another scenario with its jobs, as TOML or JSON."),
    text, wrong,
    html("div", { class: "row" }, html("button", { type: "submit", class: "main" }, "Load"), button("Cancel", () => dialog.close())),
  );
  dialog.append(form);
  document.body.append(dialog);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    wrong.textContent = "";
    try {
      const opening = openings;
      const scenario = await check(text.value);
      if (!dialog.open || opening !== openings) return;
      load(scenario);
      dialog.close();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      wrong.textContent = error.message;
    }
  });
  return (scenario) => {
    openings += 1;
    wrong.textContent = "";
    text.value = JSON.stringify(scenario, null, 1);
    dialog.showModal();
    text.focus();
    text.select();
  };
}
