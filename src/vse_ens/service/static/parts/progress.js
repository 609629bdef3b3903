/** Progress of a background job of the service. */

import { h } from "../core/dom.js";

/**
 * @param {string} sentence description of the job
 * @returns {{element: HTMLElement, update(done: number): void}}
 */
export function progress(sentence) {
  const bar = /** @type {HTMLProgressElement} */ (h("progress", { max: 1, "aria-label": sentence }));
  const share = h("span", { class: "progress-share" });
  return {
    element: h("div", { class: "working", role: "status" }, h("p", {}, sentence, " ", share), bar),
    update(done) {
      bar.value = done;
      share.textContent = `${Math.round(done * 100)} %`;
    },
  };
}
