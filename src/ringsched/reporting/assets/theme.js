// Light or dark: the system setting, until the user switches.

import { html } from "./dom.js";

const KEY = "ringsched-theme";

/** Return a button that switches between light and dark. */
export function themeButton() {
  const button = html("button", { type: "button", class: "theme" });
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const tell = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  };
  const kept = remembered();
  if (kept) document.documentElement.dataset.theme = kept;
  button.addEventListener("click", () => {
    const chosen = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = chosen;
    remember(chosen);
    tell();
  });
  system.addEventListener("change", tell);
  tell();
  return button;
}

// A browser may refuse to store a setting for a file.
function remembered() {
  try {
    const kept = window.localStorage.getItem(KEY);
    return kept === "dark" || kept === "light" ? kept : null;
  } catch {
    return null;
  }
}

function remember(theme) {
  try {
    window.localStorage.setItem(KEY, theme);
  } catch {
    // then the next report uses the system setting
  }
}
