/** Where verdicts of the audit are stored: in the service for images, in the browser for pairs of labels. */

import { postChange } from "../core/api.js";
import { storedMerges } from "../core/storage.js";

/** @typedef {import("../core/api.js").Finding} Finding */
/**
 * @typedef {object} VerdictStore
 * @property {"service" | "browser" | "nowhere"} storedIn where verdicts are stored
 * @property {(finding: Finding, agree: boolean) => Promise<number | string>} submit returns a token to undo it
 * @property {(token: number | string) => Promise<void>} undo
 * @property {(finding: Finding) => {agree: boolean, token: string} | null} stored the verdict of an earlier visit
 * @property {() => [string, string][]} agreed pairs of a label and the label to merge it into
 */

/**
 * @param {"missing" | "wrong" | "duplicates"} kind
 * @param {string} fingerprint
 * @param {boolean} feedback whether the service stores verdicts
 * @returns {VerdictStore}
 */
export const verdictStore = (kind, fingerprint, feedback) =>
  kind === "duplicates" ? inBrowser(fingerprint) : inService(kind, feedback);

/** @param {"missing" | "wrong"} kind @param {boolean} feedback @returns {VerdictStore} */
const inService = (kind, feedback) => ({
  storedIn: feedback ? "service" : "nowhere",
  async submit({ image, label, confidence }, agree) {
    // Agreeing that a label is missing accepts it; agreeing that it is wrong rejects it.
    const verdict = agree === (kind === "missing") ? "accept" : "reject";
    return (await postChange("feedback", { image, label, verdict, source: "audit", confidence })).event;
  },
  async undo(event) {
    await postChange("feedback/undo", { event });
  },
  stored: () => null,
  agreed: () => [],
});

/** The service stores verdicts on images only. @param {string} fingerprint @returns {VerdictStore} */
function inBrowser(fingerprint) {
  /** @type {Record<string, boolean>} */
  const verdicts = readVerdicts(fingerprint);
  const tokenOf = (/** @type {Finding} */ { label, other }) => JSON.stringify([label, other]);
  // Verdicts for other models are dropped: their labels may differ.
  const save = () => storedMerges.set(JSON.stringify({ [fingerprint]: verdicts }));
  return {
    storedIn: "browser",
    async submit(finding, agree) {
      verdicts[tokenOf(finding)] = agree;
      save();
      return tokenOf(finding);
    },
    async undo(token) {
      delete verdicts[token];
      save();
    },
    stored(finding) {
      const token = tokenOf(finding);
      return token in verdicts ? { agree: verdicts[token], token } : null;
    },
    agreed: () =>
      Object.keys(verdicts)
        .filter((token) => verdicts[token])
        .map((token) => JSON.parse(token)),
  };
}

/** @param {string} fingerprint */
function readVerdicts(fingerprint) {
  try {
    return JSON.parse(storedMerges.get() || "{}")[fingerprint] ?? {};
  } catch {
    return {};
  }
}
