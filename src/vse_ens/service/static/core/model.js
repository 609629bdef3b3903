/** The model card, requested once per model. */

import { get } from "./api.js";

/**
 * @typedef {{completeness: number, given: boolean, verdicts: number, used: number, needed: number, wanted: number}} Confidence
 */

/**
 * @typedef {object} ModelCard
 * @property {string} name
 * @property {string} fingerprint
 * @property {number} images
 * @property {number} labels
 * @property {number} pairs
 * @property {string | null} preset
 * @property {Record<string, unknown>} config
 * @property {Record<string, unknown>} training
 * @property {Record<string, unknown> | null} validation
 * @property {boolean} has_confidence
 * @property {Confidence | null} [confidence] what confidences rest on
 * @property {string | null} image_url
 * @property {boolean} feedback whether verdicts are stored
 * @property {string} version
 * @property {boolean} [read_only] whether the key is for reading only
 * @property {string | null} saved_at when the model was saved
 * @property {string | null} [source_format] of the collection that the model was trained from
 * @property {string | null} [source_problem] why the collection cannot be downloaded in its format
 */

/** @type {Promise<ModelCard> | null} */
let card = null;

document.addEventListener("vse-model", () => (card = null));

/** @returns {Promise<ModelCard>} */
export function modelCard() {
  card ??= get("model").catch((error) => {
    card = null;
    throw error;
  });
  return /** @type {Promise<ModelCard>} */ (card);
}

/**
 * Return the address of an image's picture, if the service knows it.
 * @param {string | null} template with `{image}` as a placeholder for the ID
 * @param {string} image
 */
export const pictureAddress = (template, image) =>
  template && template.replaceAll("{image}", image.split("/").map(encodeURIComponent).join("/"));
