/** Completers for comboboxes: labels by context and frequency, images by the prefix of their ID. */

import { get } from "../core/api.js";
import { countOf } from "../core/format.js";

/** Limits of one request. */
const MOST = 100;
const MOST_CONTEXT = 50;
/** Why a label is offered, if not for its frequency. */
const WHY = { context: "suits", typo: "similar spelling" };

/**
 * @param {(label: string) => void} choose
 * @param {object} [more]
 * @param {number} [more.limit]
 * @param {string} [more.group]
 * @param {() => string[]} [more.exclude] labels not to offer
 * @param {() => string | null} [more.image] prefer labels that suit its current labels
 * @param {() => string[]} [more.labels] prefer labels that suit these
 * @param {boolean} [more.isNew] also offer labels that the model does not know
 * @returns {import("./combobox.js").Completer}
 */
export const labels =
  (choose, { limit = 8, group, exclude = () => [], image = () => null, labels = () => [], isNew = false } = {}) =>
  async (typed, signal) => {
    const excluded = exclude();
    const context = [...labels()]
      .slice(0, MOST_CONTEXT)
      .map((label) => /** @type {[string, string]} */ (["labels", label]));
    const id = image();
    const query = [
      ["text", typed],
      ["limit", String(Math.min(MOST, limit + excluded.length))],
      ["new", String(isNew)],
      ...(id === null ? [] : [["image", id]]),
      ...context,
    ];
    const found = await get("complete", query, signal);
    return found.labels
      .filter((/** @type {{label: string}} */ one) => !excluded.includes(one.label))
      .slice(0, limit)
      .map((/** @type {{label: string, images: number, why: string}} */ one) => ({
        text: one.label,
        detail: [WHY[/** @type {keyof typeof WHY} */ (one.why)], countOf(one.images, "image")]
          .filter(Boolean)
          .join(" · "),
        group,
        choose: () => choose(one.label),
      }));
  };

/**
 * @param {(image: string) => void} choose
 * @param {{limit?: number, group?: string}} [more]
 * @returns {import("./combobox.js").Completer}
 */
export const images =
  (choose, { limit = 6, group } = {}) =>
  async (typed, signal) => {
    const found = await get("images", { prefix: typed, limit }, signal);
    return found.images.map((/** @type {string} */ image) => ({ text: image, group, choose: () => choose(image) }));
  };

/**
 * Also offer the typed text as a new label if the model does not know it.
 * @param {import("./combobox.js").Completer} complete
 * @param {(label: string) => void} choose
 * @returns {import("./combobox.js").Completer}
 */
export const orNew = (complete, choose) => async (typed, signal) => {
  const known = await complete(typed, signal);
  if (!typed || known.some((option) => option.text === typed)) return known;
  return [...known, { text: typed, detail: "new label", choose: () => choose(typed) }];
};

/**
 * Concatenate the options of several completers.
 * @param {...import("./combobox.js").Completer} completers
 * @returns {import("./combobox.js").Completer}
 */
export const both =
  (...completers) =>
  async (typed, signal) => {
    const found = await Promise.all(completers.map((complete) => complete(typed, signal)));
    return found.flat();
  };
