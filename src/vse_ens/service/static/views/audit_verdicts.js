/** Where verdicts of the audit are stored: as feedback for images, as rules for pairs of labels. */

import { get, postChange } from "../core/api.js";

/** @typedef {import("../core/api.js").Finding} Finding */
/** @typedef {{agree: boolean, token: number | string}} Stored */
/**
 * @typedef {object} VerdictStore
 * @property {boolean} stores whether the service stores verdicts
 * @property {(finding: Finding, agree: boolean) => Promise<number | string>} submit returns a token to undo it
 * @property {(token: number | string) => Promise<void>} undo
 * @property {(finding: Finding) => Stored | null} stored the verdict of an earlier visit
 * @property {(token: number | string) => boolean} leaves whether a finding with this verdict leaves the service's list
 */

/** Pairs of labels that were kept, until the page is closed: only merges are rules. @type {Set<string>} */
const kept = new Set();

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
    return (await postChange("feedback", { image, label, verdict, source: "audit", confidence })).event;
  },
  async undo(event) {
    await postChange("feedback/undo", { event });
  },
  stored: () => null,
  leaves: () => true,
});

/**
 * Verdicts on pairs of labels: agreeing adds a rule.
 * @param {boolean} feedback
 * @param {AbortSignal} signal
 * @param {"alias" | "implication"} [kind]
 * @returns {Promise<VerdictStore>}
 */
export async function asRules(feedback, signal, kind = "alias") {
  const { rules } = await get("rules", {}, signal);
  const isSame = (/** @type {{kind: string}} */ rule) => (rule.kind === "implication") === (kind === "implication");
  const merged = new Map(
    rules.filter(isSame).map((/** @type {{id: number, label: string, other: string}} */ one) => [nameOf(one), one.id]),
  );
  return {
    stores: feedback,
    async submit(finding, agree) {
      if (agree) return (await postChange("rules", { kind, label: finding.label, other: finding.other })).rule;
      const name = kind + nameOf(finding);
      kept.add(name);
      return name;
    },
    async undo(token) {
      if (typeof token === "string") kept.delete(token);
      else await postChange("rules/undo", { rule: token });
    },
    stored(finding) {
      const name = kind + nameOf(finding);
      const rule = merged.get(nameOf(finding));
      if (rule !== undefined) return { agree: true, token: rule };
      return kept.has(name) ? { agree: false, token: name } : null;
    },
    leaves: (token) => typeof token === "number",
  };
}

/** @param {{label: string, other?: string}} pair */
const nameOf = ({ label, other }) => JSON.stringify([label, other]);
