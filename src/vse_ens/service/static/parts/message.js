/** A quiet page: nothing here, not found, nothing left. */

import { h } from "../core/dom.js";

/**
 * @param {string} title
 * @param {string} text
 * @param {...(Node | null)} more what can be done about it
 */
export const message = (title, text, ...more) =>
  h("section", { class: "message" }, h("h1", { tabindex: -1 }, title), h("p", {}, text), ...more);
