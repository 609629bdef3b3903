/** A page with only a message. */

import { h } from "../core/dom.js";

/**
 * @param {string} title
 * @param {string} text
 * @param {...(Node | null)} more further content, such as links
 */
export const message = (title, text, ...more) =>
  h("section", { class: "message" }, h("h1", { tabindex: -1 }, title), h("p", {}, text), ...more);
