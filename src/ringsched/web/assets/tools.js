// Download what is shown, and share it.

import { ApiError, ask } from "./api.js";
import { button } from "./fields.js";
import { toast } from "./notices.js";
import { shortened } from "./text.js";
import { themeButton } from "./theme.js";

/** Fill the bar; `answer` returns the newest plans, `scenario` the scenario as it is planned, `link` the address. */
export function tools(root, { answer, scenario, link }) {
  const said = (act) => async () => {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      toast(error.message);
    }
  };
  const plans = button("Plan", said(() => {
    const { plans: all } = ready(answer());
    for (const [label, plan] of Object.entries(all)) save(asText(plan), Object.keys(all).length > 1 ? `plan-${fileName(label)}.json` : "plan.json");
  }));
  const report = button("Report", said(async () => {
    const { scenario: planned, plans: all } = ready(answer());
    save(await ask("POST", "/report", { scenario: planned, plans: all }, { as: "blob" }), "report.html");
  }));
  const share = button("Copy link", said(async () => toast(await copied(await link()))));
  root.append(button("Scenario", () => save(asText(scenario()), "scenario.json")), plans, report, share, themeButton());
  for (const each of [...root.querySelectorAll("button")].slice(0, 3)) each.setAttribute("aria-label", `Download ${each.textContent.toLowerCase()}`);
}

function ready(answer) {
  if (!answer) throw new ApiError({ message: "There is no plan yet." });
  return answer;
}

function asText(object) {
  return new Blob([`${JSON.stringify(object, null, 1)}\n`], { type: "application/json" });
}

function fileName(label) {
  return shortened(label.replaceAll(/[^\w.-]+/g, "-"), 60);
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function copied(address) {
  if (!address) return "This is too much for an address: download the scenario and share the file.";
  try {
    await navigator.clipboard.writeText(address);
    return "The link is copied: whoever opens it at this server sees the same.";
  } catch {
    return "The browser does not let this page copy: take the link from the address bar.";
  }
}
