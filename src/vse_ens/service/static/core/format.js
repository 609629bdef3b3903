/** Numbers and sentences as text. */

const counts = new Intl.NumberFormat("en-GB");

/** @param {number} count */
export const count = (count) => counts.format(count);

/**
 * A count with its noun: "1 image", "1,204 images".
 * @param {number} number
 * @param {string} noun
 * @param {string} [plural]
 */
export const countOf = (number, noun, plural = `${noun}s`) => `${count(number)} ${number === 1 ? noun : plural}`;

/**
 * A probability in whole percent; "0 %" and "100 %" only if exact.
 * @param {number | null | undefined} share
 * @returns {string} empty without a confidence
 */
export function percent(share) {
  if (share === null || share === undefined) return "";
  if (share > 0 && share < 0.01) return "<1 %";
  if (share < 1 && share > 0.99) return ">99 %";
  return `${Math.round(share * 100)} %`;
}

/**
 * A contribution to a score, with its sign.
 * @param {number} share
 */
export const signed = (share) => `${share < 0 ? "−" : "+"}${Math.abs(share).toFixed(1)}`;

/**
 * The name of a contribution to a score.
 * @param {import("./api.js").Reason} reason
 */
export function reasonName(reason) {
  if (reason.labels.length) return reason.labels.join(" with ");
  if (reason.source === "neighbors") return `${reason.count} similar image${reason.count === 1 ? "" : "s"}`;
  if (reason.source === "features") return "what the image shows";
  return reason.source === "image" ? "the image itself" : "its frequency";
}

/**
 * The contributions as a sentence, strongest first.
 * @param {import("./api.js").Reason[]} reasons
 */
export const reasonsSentence = (reasons) =>
  strongest(reasons)
    .map((reason) => `${reasonName(reason)} ${signed(reason.share)}`)
    .join(", ") || "no known label supports it";

/**
 * The strongest contributions, by labels and similar images if there are any.
 * @param {import("./api.js").Reason[]} reasons
 * @param {number} [most]
 */
export function strongest(reasons, most = 4) {
  const evident = (/** @type {import("./api.js").Reason} */ reason) => reason.labels.length || ["neighbors", "features"].includes(reason.source);
  const named = reasons.filter((reason) => evident(reason) && Math.abs(reason.share) >= 0.05);
  return (named.length ? named : reasons).slice(0, most);
}

/**
 * A message of the service as a sentence.
 * @param {string} text
 */
export const asSentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
