/** Where verdicts of the audit are stored: as feedback for images, as rules for pairs of labels. */

import { get, postChange } from "../core/api.js";

/** @typedef {import("../core/api.js").Finding} Finding */
/** @typedef {{agree: boolean, token: number}} Stored */
/**
 * @typedef {object} VerdictStore
 * @property {boolean} stores whether the service stores verdicts
 * @property {(finding: Finding, agree: boolean) => Promise<number>} submit returns a token to undo it
 * @property {(token: number) => Promise<void>} undo
 * @property {(finding: Finding) => Stored | null} stored the verdict of an earlier visit
 */

/**
 * @param {"missing" | "wrong" | "duplicates"} kind
 * @param {boolean} feedback whether the service stores verdicts
 * @param {AbortSignal} signal
 * @returns {Promise<VerdictStore>}
 */
export const verdictStore = async (kind, feedback, signal) =>
  kind === "duplicates" ? asRules(feedback, signal) : asFeedback(kind, feedback);

/** @param {"missing" | "wrong"} kind @param {boolean} feedback @returns {VerdictStore} */
const asFeedback = (kind, feedback) => ({
  stores: feedback,
  async submit({ image, label, confidence }, agree) {
    // Agreeing that a label is missing accepts it; agreeing that it is wrong rejects it.
    const verdict = agree === (kind === "missing") ? "accept" : "reject";
    // The confidence of a label that the image has is not a suggestion's, and must not count as such.
    const shown = kind === "missing" ? { confidence } : {};
    return (await postChange("feedback", { image, label, verdict, source: "audit", ...shown })).event;
  },
  async undo(event) {
    await postChange("feedback/undo", { event });
  },
  stored: () => null,
});

/**
 * Verdicts on pairs of labels: agreeing adds a rule, disagreeing a rejected one.
 * @param {boolean} feedback
 * @param {AbortSignal} signal
 * @param {"alias" | "implication"} [kind]
 * @returns {Promise<VerdictStore>}
 */
export async function asRules(feedback, signal, kind = "alias") {
  /** @type {{rules: import("./vocabulary_rules.js").Rule[]}} */
  const { rules } = await get("rules", {}, signal);
  const numbers = (/** @type {(rule: import("./vocabulary_rules.js").Rule) => boolean} */ chosen) =>
    new Map(rules.filter(chosen).map((rule) => [nameOf(rule), rule.id]));
  const rejected = numbers((rule) => rule.kind === "rejected");
  const accepted = numbers(
    (rule) => rule.kind !== "rejected" && (rule.kind === "implication") === (kind === "implication"),
  );
  return {
    stores: feedback,
    async submit({ label, other }, agree) {
      return (await postChange("rules", { kind: agree ? kind : "rejected", label, other })).rule;
    },
    async undo(rule) {
      await postChange("rules/undo", { rule });
    },
    stored(finding) {
      const rule = accepted.get(nameOf(finding));
      if (rule !== undefined) return { agree: true, token: rule };
      const rejection = rejected.get(nameOf(finding));
      return rejection === undefined ? null : { agree: false, token: rejection };
    },
  };
}

/** @param {{label: string, other?: string}} pair */
const nameOf = ({ label, other }) => JSON.stringify([label, other]);
