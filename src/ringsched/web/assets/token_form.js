// Asks for the server's token if the address has none or a wrong one.

import { keepToken, setToken } from "./api.js";
import { html } from "./dom.js";
import { banner } from "./notices.js";

/** Wait until there is a token to try: typed, or in an address that the user opened. The rest of the address stays. */
export function tokenGiven(message) {
  const shared = location.hash;
  const input = html("input", { type: "password", id: "token", autocomplete: "off", spellcheck: "false", required: "" });
  const form = html("form", { class: "row" }, html("label", { for: "token" }, "token"), input, html("button", { type: "submit" }, "Continue"));
  banner(message, form);
  if (document.activeElement === document.body) input.focus();
  return new Promise((resolve) => {
    const travelled = () => {
      if (keepToken(location.hash.slice(1))) history.replaceState(null, "", `${location.pathname}${shared}`);
      resolve();
    };
    window.addEventListener("hashchange", travelled, { once: true });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      window.removeEventListener("hashchange", travelled);
      const text = input.value; // the token, or the whole address that ends with it
      if (!keepToken(text.slice(text.indexOf("#") + 1))) setToken(text);
      resolve();
    });
  });
}
