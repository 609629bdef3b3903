/** Completers for comboboxes: labels with their frequency, images by the prefix of their ID. */

import { get } from "../core/api.js";
import { countOf } from "../core/format.js";

/**
 * @param {(label: string) => void} choose
 * @param {{limit?: number, group?: string, exclude?: () => string[]}} [more]
 * @returns {import("./combobox.js").Completer}
 */
export const labels =
  (choose, { limit = 8, group, exclude = () => [] } = {}) =>
  async (typed, signal) => {
    const excluded = exclude();
    const found = await get("labels", { prefix: typed, limit: limit + excluded.length }, signal);
    return found.labels
      .filter((/** @type {{label: string}} */ one) => !excluded.includes(one.label))
      .slice(0, limit)
      .map((/** @type {{label: string, images: number}} */ one) => ({
        text: one.label,
        detail: countOf(one.images, "image"),
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
