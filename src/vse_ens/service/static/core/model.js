/** What is known of the model that is served; asked once. */

import { get } from "./api.js";

/** @typedef {{name: string, fingerprint: string, images: number, labels: number, pairs: number, preset: string | null, config: Record<string, unknown>, training: Record<string, unknown>, validation: Record<string, unknown> | null, has_confidence: boolean, image_url: string | null, feedback: boolean, version: string}} ModelCard */

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
