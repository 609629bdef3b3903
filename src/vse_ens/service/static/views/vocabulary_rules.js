/** The rules in force and the rejected ones, with an undo for each. */

import { announce } from "../core/announcer.js";
import { get, postChange } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { countOf } from "../core/format.js";
import { icon } from "../parts/icon.js";
import { orToast } from "../parts/toast.js";

/**
 * @typedef {object} Rule
 * @property {number} id
 * @property {"alias" | "implication" | "rename" | "rejected"} kind
 * @property {string} label
 * @property {string} other
 * @property {string} by
 * @property {string} at
 * @property {number | null} [exceptions]
 */

const VERBS = { alias: " is merged into ", rename: " is renamed ", implication: " implies ", rejected: " and " };
const start = (/** @type {Rule} */ rule) => (rule.kind === "rejected" ? "no rule between " : "");
const sentence = (/** @type {Rule} */ rule) => start(rule) + rule.label + VERBS[rule.kind] + rule.other;
const dates = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** @param {HTMLElement} body @param {boolean} feedback @param {AbortSignal} visit */
export async function showRules(body, feedback, visit) {
  /** @type {{rules: Rule[]}} */
  const { rules } = await get("rules", {}, visit);
  const undo = (/** @type {Rule} */ rule) =>
    orToast(async () => {
      await postChange("rules/undo", { rule: rule.id });
      announce(`Undone: ${sentence(rule)}.`);
      await showRules(body, feedback, visit);
      body.querySelector("button")?.focus();
    });
  const list = (/** @type {Rule[]} */ shown, /** @type {string} */ name) =>
    h(
      "ul",
      { class: "rules", "aria-label": name },
      ...[...shown].reverse().map((rule) => ruleRow(rule, feedback ? () => undo(rule) : null)),
    );
  const inForce = rules.filter((rule) => rule.kind !== "rejected");
  const rejected = rules.filter((rule) => rule.kind === "rejected");
  fill(
    body,
    inForce.length
      ? list(inForce, "Rules in force")
      : h(
          "p",
          { class: "none" },
          feedback ? "No rules yet. Accept some under " : "No rules. Proposals are under ",
          h("a", { href: "#/vocabulary/implications" }, "Implications"),
          " or ",
          h("a", { href: "#/vocabulary/aliases" }, "Aliases"),
          ".",
        ),
    rejected.length > 0 && h("h2", {}, "Not proposed again"),
    rejected.length > 0 && list(rejected, "Not proposed again"),
  );
}

/** @param {Rule} rule @param {(() => void) | null} undo null without the right to */
function ruleRow(rule, undo) {
  const changed = rule.kind === "implication" ? "exception" : "image";
  return h(
    "li",
    { class: "rule" },
    h(
      "div",
      {},
      h("p", {}, start(rule), h("strong", {}, rule.label), VERBS[rule.kind], h("strong", {}, rule.other)),
      h(
        "p",
        { class: "aside" },
        [rule.by, dates.format(new Date(rule.at)), rule.exceptions && countOf(rule.exceptions, changed)]
          .filter(Boolean)
          .join(" · "),
      ),
    ),
    undo && h("button", { type: "button", "aria-label": `Undo: ${sentence(rule)}`, onclick: undo }, icon("undo"), "Undo"),
  );
}
