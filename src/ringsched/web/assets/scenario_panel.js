// The source of the scenario: an example, a file, or text.

import { html } from "./dom.js";
import { ApiError, ask } from "./api.js";
import { button, field, select } from "./fields.js";
import { textDialog } from "./text_dialog.js";

const OWN = "";

/** Fill the panel; `load` gets a scenario and the name of the example it is, or null. */
export function scenarioPanel(root, about, { load, current }) {
  const examples = select([...about.examples.map(({ name, title }) => [name, title]), [OWN, "custom"]]);
  examples.querySelector(`option[value=""]`).disabled = true;
  const wrapper = field("example", "example", examples);
  const wrong = wrapper.querySelector(".wrong");
  let [attempts, shown] = [0, OWN];
  const attempt = async (find, example = null) => {
    attempts += 1;
    const number = attempts;
    wrong.textContent = "";
    document.body.classList.add("loading");
    try {
      const scenario = await find();
      if (number === attempts) load(scenario, example); // otherwise another one was requested meanwhile
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (number === attempts) {
        wrong.textContent = error.message;
        examples.value = shown;
      }
    }
    if (number === attempts) document.body.classList.remove("loading");
  };
  window.addEventListener("popstate", () => { // requests from before the navigation no longer apply
    attempts += 1;
    document.body.classList.remove("loading");
  });
  examples.addEventListener("change", () => attempt(() => exampleNamed(examples.value), examples.value));
  const read = (file) => attempt(async () => scenarioOf(await textOf(file, about.limits), formatOf(file.name)));
  const input = html("input", { type: "file", accept: ".toml,.json", hidden: "", "aria-label": "Scenario file" });
  input.addEventListener("change", () => {
    if (input.files.length) read(input.files[0]);
    input.value = ""; // the same file can be chosen again
  });
  const edit = textDialog((text) => scenarioOf(text), (scenario) => load(scenario));
  root.append(
    wrapper, input,
    html("div", { class: "row" }, button("Open file …", () => input.click()), button("As text …", () => edit(current()))),
    html("p", { class: "note" }, "Or drop a TOML or JSON file anywhere."),
  );
  takeDrops(read);
  return {
    show: ({ example }) => {
      shown = example ?? OWN;
      examples.value = shown;
    },
  };
}

/** Return an example, expanded. */
export async function exampleNamed(name) {
  return (await ask("GET", `/examples/${encodeURIComponent(name)}`)).scenario;
}

/** Return the scenario of a text, validated and expanded by the server. */
export async function scenarioOf(text, format = text.trimStart().startsWith("{") ? "json" : "toml") {
  return (await ask("POST", "/scenario", { text, format })).scenario;
}

function formatOf(name) {
  return name.toLowerCase().endsWith(".json") ? "json" : "toml";
}

async function textOf(file, limits) {
  const most = limits?.body_bytes ?? Infinity;
  if (file.size > most) throw new ApiError({ message: `${file.name} has ${megabytes(file.size)} MB; the server accepts at most ${megabytes(most)} MB.` });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new ApiError({ message: `${file.name} is not UTF-8 text.` });
  }
}

function megabytes(bytes) {
  return Number((bytes / 1e6).toPrecision(2));
}

/** Let files be dropped anywhere on the page, and show that they can. */
function takeDrops(read) {
  const sign = document.getElementById("drop");
  const isFile = (event) => [...event.dataTransfer.types].includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    sign.hidden = false;
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) sign.hidden = true;
  });
  document.addEventListener("drop", (event) => {
    sign.hidden = true;
    if (!isFile(event)) return;
    event.preventDefault();
    if (event.dataTransfer.files.length) read(event.dataTransfer.files[0]);
  });
}
