/** Light and dark theme: the system's until the user chooses one. */

import { fill } from "../core/dom.js";
import { storedTheme } from "../core/storage.js";
import { icon } from "./icon.js";

const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

/**
 * Make a button show and change the theme; dispatches "themechange" on the document for the canvas.
 * @param {HTMLElement} button
 */
export function themeButton(button) {
  const show = () => {
    fill(button, icon(isDark() ? "sun" : "moon"));
    button.setAttribute("aria-label", isDark() ? "Light theme" : "Dark theme");
    button.title = button.getAttribute("aria-label") ?? "";
    document.dispatchEvent(new Event("themechange"));
  };
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    storedTheme.set(theme);
    show();
  });
  systemIsDark.addEventListener("change", show);
  show();
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemIsDark.matches;
}
