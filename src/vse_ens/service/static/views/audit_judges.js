/** What agreeing and disagreeing mean: of an image the service keeps the verdict, of a pair of labels this browser. */

import { tell } from "../core/api.js";
import { keptMerges } from "../core/kept.js";

/** @typedef {import("../core/api.js").Finding} Finding */
/**
 * @typedef {object} Judge
 * @property {"service" | "browser" | "nowhere"} kept where verdicts are
 * @property {(finding: Finding, agree: boolean) => Promise<number | string>} say gives what takes it back
 * @property {(token: number | string) => Promise<void>} takeBack
 * @property {(finding: Finding) => {agree: boolean, token: string} | null} known a verdict of an earlier visit
 * @property {() => [string, string][]} agreed labels, each with the one it could be merged into
 */

/**
 * @param {"missing" | "wrong" | "duplicates"} kind
 * @param {string} fingerprint
 * @param {boolean} feedback whether the service keeps verdicts
 * @returns {Judge}
 */
export const judgeOf = (kind, fingerprint, feedback) =>
  kind === "duplicates" ? inBrowser(fingerprint) : inService(kind, feedback);

/** @param {"missing" | "wrong"} kind @param {boolean} feedback @returns {Judge} */
const inService = (kind, feedback) => ({
  kept: feedback ? "service" : "nowhere",
  async say({ image, label, confidence }, agree) {
    // To agree that a label is missing is to accept it; to agree that it is wrong is to reject it.
    const verdict = agree === (kind === "missing") ? "accept" : "reject";
    return (await tell("feedback", { image, label, verdict, source: "audit", confidence })).event;
  },
  async takeBack(event) {
    await tell("feedback/undo", { event });
  },
  known: () => null,
  agreed: () => [],
});

/** The service has verdicts on images only. @param {string} fingerprint @returns {Judge} */
function inBrowser(fingerprint) {
  /** @type {Record<string, boolean>} */
  const verdicts = keptFor(fingerprint);
  const nameOf = (/** @type {Finding} */ { label, other }) => JSON.stringify([label, other]);
  // Of other models nothing is kept: their labels may be others.
  const keep = () => keptMerges.set(JSON.stringify({ [fingerprint]: verdicts }));
  return {
    kept: "browser",
    async say(finding, agree) {
      verdicts[nameOf(finding)] = agree;
      keep();
      return nameOf(finding);
    },
    async takeBack(token) {
      delete verdicts[token];
      keep();
    },
    known(finding) {
      const token = nameOf(finding);
      return token in verdicts ? { agree: verdicts[token], token } : null;
    },
    agreed: () =>
      Object.keys(verdicts)
        .filter((token) => verdicts[token])
        .map((token) => JSON.parse(token)),
  };
}

/** @param {string} fingerprint */
function keptFor(fingerprint) {
  try {
    return JSON.parse(keptMerges.get() || "{}")[fingerprint] ?? {};
  } catch {
    return {};
  }
}
