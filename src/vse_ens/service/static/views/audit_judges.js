/** What agreeing and disagreeing mean, by kind: for an image the service keeps the verdict, for a pair of labels this browser does. */

import { tell } from "../core/api.js";
import { keptMerges } from "../core/kept.js";

/** @typedef {import("../core/api.js").Finding} Finding */
/** @typedef {{kept: "service" | "browser" | "nowhere", say(finding: Finding, agree: boolean): Promise<number | string>, takeBack(token: number | string): Promise<void>, known(finding: Finding): boolean | undefined, agreed(): {label: string, other: string}[]}} Judge */

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
  known: () => undefined,
  agreed: () => [],
});

/** The service has verdicts on images only. @param {string} fingerprint @returns {Judge} */
function inBrowser(fingerprint) {
  const nameOf = (/** @type {Finding} */ finding) => JSON.stringify([finding.label, finding.other]);
  const all = () => {
    try {
      return JSON.parse(keptMerges.get() || "{}");
    } catch {
      return {};
    }
  };
  /** @returns {Record<string, boolean>} */
  const own = () => all()[fingerprint] ?? {};
  // Of other models nothing is kept: their labels may be others.
  const keep = (/** @type {Record<string, boolean>} */ verdicts) => keptMerges.set(JSON.stringify({ [fingerprint]: verdicts }));
  return {
    kept: "browser",
    async say(finding, agree) {
      keep({ ...own(), [nameOf(finding)]: agree });
      return nameOf(finding);
    },
    async takeBack(token) {
      const { [token]: _, ...others } = own();
      keep(others);
    },
    known: (finding) => own()[nameOf(finding)],
    agreed: () =>
      Object.entries(own())
        .filter(([, agree]) => agree)
        .map(([name]) => JSON.parse(name))
        .map(([label, other]) => ({ label, other })),
  };
}
