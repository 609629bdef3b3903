/** Downloads of files created in the page. */

import { h } from "../core/dom.js";

/**
 * @param {string} name
 * @param {BlobPart} content
 */
export function download(name, content) {
  const address = URL.createObjectURL(new Blob([content]));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1_000);
}
