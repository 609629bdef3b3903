/** The picture of an image, in a frame of fixed size. */

import { h } from "../core/dom.js";

/**
 * @param {string | null | undefined} address without it, there is no frame
 * @param {string} image
 * @param {boolean} [eager] load it immediately
 * @returns {HTMLElement | null}
 */
export function picture(address, image, eager = false) {
  if (!address) return null;
  const shown = h("img", {
    // Relative to the page, which may be served below any path.
    src: address.startsWith("/api/picture?") ? address.slice(1) : address,
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
