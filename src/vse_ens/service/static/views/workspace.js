/** Layout of the Annotate view: the subject on one side, the suggestions on the other. */

import { h } from "../core/dom.js";
import { suggestionList } from "../parts/suggestions.js";

/** @typedef {import("../core/api.js").Suggestion} Suggestion */
/** @typedef {(suggestion: Suggestion) => void} OnVerdict */
/** @typedef {{accept: OnVerdict, reject: OnVerdict, undo(): void}} VerdictHandlers */

/**
 * @typedef {object} Workspace
 * @property {HTMLElement} element
 * @property {HTMLElement} subject the image or labels being annotated
 * @property {HTMLElement} hint a line above the suggestions
 * @property {ReturnType<typeof suggestionList>} list
 * @property {HTMLElement} none shown if there are no suggestions
 * @property {HTMLElement} rejected
 * @property {HTMLElement} below
 * @property {VerdictHandlers} handlers set by the current view
 * @property {() => void} next show the next image
 * @property {() => void} reviewed show how many images have a verdict
 * @property {() => import("../core/route.js").Term[]} terms the labels that were typed, if any
 */

/** @returns {Workspace} */
export function makeWorkspace() {
  const subject = h("article", { class: "subject" });
  const hint = h("p", { class: "hint" });
  const none = h("p", { class: "none", hidden: true });
  const rejected = h("section", { class: "rejections", hidden: true });
  const below = h("section", { class: "below" });
  const list = suggestionList({
    accept: (suggestion) => workspace.handlers.accept(suggestion),
    reject: (suggestion) => workspace.handlers.reject(suggestion),
  });
  /** @type {Workspace} */
  const workspace = {
    element: h(
      "div",
      { class: "workspace" },
      subject,
      h(
        "section",
        { class: "proposals" },
        h("div", { class: "proposals-head" }, h("h2", {}, "Suggestions"), hint, list.why),
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
    handlers: { accept() {}, reject() {}, undo() {} },
    next: () => {},
    reviewed: () => {},
    terms: () => [],
  };
  return workspace;
}
