/** Light or dark: the system's choice until the person makes one. */

import { fill } from "../core/dom.js";
import { keptTheme } from "../core/kept.js";
import { icon } from "./icon.js";

const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

/**
 * Let a button show and change the theme; "themechange" on the document tells those who draw themselves.
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
    keptTheme.set(theme);
    show();
  });
  systemIsDark.addEventListener("change", show);
  show();
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemIsDark.matches;
}
