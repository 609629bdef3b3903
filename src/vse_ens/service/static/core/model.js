/** What is known of the model that is served; asked once. */

import { get } from "./api.js";

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
 * @property {string | null} image_url
 * @property {boolean} feedback whether verdicts are kept
 * @property {string} version
 */

/** @type {Promise<ModelCard> | null} */
let card = null;

/** @returns {Promise<ModelCard>} */
export function modelCard() {
  card ??= get("model").catch((error) => {
    card = null;
    throw error;
  });
  return /** @type {Promise<ModelCard>} */ (card);
}

/**
 * Where an image's picture is, if the service was told where pictures are.
 * @param {string | null} template with `{image}` for the id
 * @param {string} image
 */
export const pictureAddress = (template, image) =>
  template && template.replaceAll("{image}", image.split("/").map(encodeURIComponent).join("/"));
