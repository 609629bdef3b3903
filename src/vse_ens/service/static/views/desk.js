/** Where one thing is annotated: what is known of it on one side, what the model suggests on the other. */

import { h } from "../core/dom.js";
import { suggestionList } from "../parts/suggestions.js";

/** @typedef {import("../core/api.js").Suggestion} Suggestion */
/** @typedef {{accept(suggestion: Suggestion): void, reject(suggestion: Suggestion): void, undo(): void}} Judge */

/**
 * @typedef {object} Desk
 * @property {HTMLElement} element
 * @property {HTMLElement} subject what is annotated
 * @property {HTMLElement} hint a line above the suggestions
 * @property {ReturnType<typeof suggestionList>} list
 * @property {HTMLElement} none said when there is nothing to suggest
 * @property {HTMLElement} rejected
 * @property {HTMLElement} below
 * @property {Judge} judge who takes the verdicts; each view brings its own
 * @property {() => import("../core/route.js").Term[]} terms the labels that were typed, if any
 */

/** @returns {Desk} */
export function makeDesk() {
  const subject = h("article", { class: "subject" });
  const hint = h("p", { class: "hint" });
  const none = h("p", { class: "none", hidden: true });
  const rejected = h("section", { class: "rejections", hidden: true });
  const below = h("section", { class: "below" });
  const list = suggestionList({
    accept: (suggestion) => desk.judge.accept(suggestion),
    reject: (suggestion) => desk.judge.reject(suggestion),
  });
  /** @type {Desk} */
  const desk = {
    element: h(
      "div",
      { class: "desk" },
      subject,
      h(
        "section",
        { class: "proposals" },
        h("div", { class: "proposals-head" }, h("h2", {}, "Suggestions"), hint),
        list.element,
        none,
        rejected,
      ),
      below,
    ),
    subject,
    hint,
    list,
    none,
    rejected,
    below,
    judge: { accept() {}, reject() {}, undo() {} },
    terms: () => [],
  };
  return desk;
}
