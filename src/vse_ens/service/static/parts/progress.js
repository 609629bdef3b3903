/** Work that the service does in the background, and how far it is. */

import { h } from "../core/dom.js";

/**
 * @param {string} sentence what is being done
 * @returns {{element: HTMLElement, tell(done: number): void}}
 */
export function progress(sentence) {
  const bar = /** @type {HTMLProgressElement} */ (h("progress", { max: 1, "aria-label": sentence }));
  const share = h("span", { class: "progress-share" });
  return {
    element: h("div", { class: "working", role: "status" }, h("p", {}, sentence, " ", share), bar),
    tell(done) {
      bar.value = done;
      share.textContent = `${Math.round(done * 100)} %`;
    },
  };
}
