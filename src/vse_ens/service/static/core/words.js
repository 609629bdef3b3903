/** Numbers as people read them. */

const counts = new Intl.NumberFormat("en-GB");

/** @param {number} count */
export const count = (count) => counts.format(count);

/**
 * A number of things: "1 image", "1,204 images".
 * @param {number} number
 * @param {string} thing
 */
export const many = (number, thing) => `${count(number)} ${thing}${number === 1 ? "" : "s"}`;

/**
 * A probability: whole percents, but never "0 %" or "100 %" for what is neither.
 * @param {number | null | undefined} share
 * @returns {string} nothing where there is no confidence
 */
export function percent(share) {
  if (share === null || share === undefined) return "";
  if (share > 0 && share < 0.01) return "<1 %";
  if (share < 1 && share > 0.99) return ">99 %";
  return `${Math.round(share * 100)} %`;
}

/**
 * A part of a score, with its sign.
 * @param {number} share
 */
export const signed = (share) => `${share < 0 ? "−" : "+"}${Math.abs(share).toFixed(1)}`;

/**
 * Who speaks in a reason.
 * @param {import("./api.js").Reason} reason
 */
export function speaker(reason) {
  if (reason.labels.length) return reason.labels.join(" with ");
  return reason.source === "image" ? "the image itself" : "how common it is";
}

/**
 * The reasons in a sentence, the strongest first.
 * @param {import("./api.js").Reason[]} reasons
 */
export const because = (reasons) =>
  strongest(reasons)
    .map((reason) => `${speaker(reason)} ${signed(reason.share)}`)
    .join(", ") || "no known label speaks for it";

/**
 * What a person reads at a glance.
 * @param {import("./api.js").Reason[]} reasons
 * @param {number} [most]
 */
export function strongest(reasons, most = 4) {
  const named = reasons.filter((reason) => reason.labels.length && Math.abs(reason.share) >= 0.05);
  return (named.length ? named : reasons).slice(0, most);
}

/**
 * What the service says, as a sentence.
 * @param {string} text
 */
export const asSentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
