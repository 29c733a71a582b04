// Downloads and shares what is shown.

import { ApiError, ask } from "./api.js";
import { button } from "./fields.js";
import { toast } from "./notices.js";
import { shortened } from "./text.js";
import { themeButton } from "./theme.js";

/** Fill the bar; `answer` returns the newest plans, `scenario` the planned scenario, `link` the address. */
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
  if (!address) return "The scenario is too large for a link. Download it and share the file.";
  try {
    await navigator.clipboard.writeText(address);
    return "Link copied. It shows the same state on this server.";
  } catch {
    return "The browser did not allow copying. Copy the link from the address bar.";
  }
}
