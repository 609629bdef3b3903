/** A short message about what just happened, such as an undo; it goes away by itself. */

import { announce } from "../core/announcer.js";
import { h } from "../core/dom.js";

const SECONDS = 4;

/** @type {HTMLElement | null} */
let note = null;
let timer = 0;

/**
 * Show and announce a sentence, in place of the one before.
 * @param {string} sentence
 */
export function notice(sentence) {
  announce(sentence);
  note ??= h("div", { class: "notice", "aria-hidden": "true" });
  note.textContent = sentence;
  document.body.append(note);
  clearTimeout(timer);
  timer = setTimeout(() => note?.remove(), SECONDS * 1_000);
}
