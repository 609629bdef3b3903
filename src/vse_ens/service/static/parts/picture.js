/** The picture of an image, in a box whose size does not wait for it. */

import { h } from "../core/dom.js";

/**
 * @param {string | null | undefined} address nothing: no picture, no box
 * @param {string} image
 * @param {boolean} [eager] the picture one came for
 * @returns {HTMLElement | null}
 */
export function picture(address, image, eager = false) {
  if (!address) return null;
  const shown = h("img", {
    src: address,
    alt: `Picture ${image}`,
    loading: eager ? "eager" : "lazy",
    decoding: "async",
  });
  const frame = h("div", { class: "picture" }, shown);
  shown.addEventListener("error", () => {
    frame.classList.add("picture-missing");
    frame.replaceChildren("No picture");
  });
  return frame;
}
