/** What a box offers: labels with how often they occur, images by how their ids begin. */

import { get } from "../core/api.js";
import { many } from "../core/words.js";

/**
 * @param {(label: string) => void} choose
 * @param {{limit?: number, group?: string, leftOut?: () => string[]}} [more]
 * @returns {import("./combobox.js").Completer}
 */
export const labels =
  (choose, { limit = 8, group, leftOut = () => [] } = {}) =>
  async (typed, signal) => {
    const out = leftOut();
    const found = await get("labels", { prefix: typed, limit: limit + out.length }, signal);
    return found.labels
      .filter((/** @type {{label: string}} */ one) => !out.includes(one.label))
      .slice(0, limit)
      .map((/** @type {{label: string, images: number}} */ one) => ({
        text: one.label,
        detail: many(one.images, "image"),
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
 * The same, and what was typed itself where it is no label yet: people may know a word that the model does not.
 * @param {import("./combobox.js").Completer} complete
 * @param {(label: string) => void} choose
 * @returns {import("./combobox.js").Completer}
 */
export const orNew = (complete, choose) => async (typed, signal) => {
  const known = await complete(typed, signal);
  if (!typed || known.some((option) => option.text === typed)) return known;
  return [...known, { text: typed, detail: "a new label", choose: () => choose(typed) }];
};

/**
 * Several after one another.
 * @param {...import("./combobox.js").Completer} completers
 * @returns {import("./combobox.js").Completer}
 */
export const both =
  (...completers) =>
  async (typed, signal) => {
    const found = await Promise.all(completers.map((complete) => complete(typed, signal)));
    return found.flat();
  };
