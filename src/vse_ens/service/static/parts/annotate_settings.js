/** How "next" works: the order of images, and whether the page advances by itself. */

import { fill, h } from "../core/dom.js";
import { count } from "../core/format.js";
import { imageOrder, queueProgress, setImageOrder } from "../core/images.js";
import { storedAdvance } from "../core/storage.js";

/** Below this confidence, a suggestion does not keep an image open. */
const LIKELY = 0.1;

const ORDERS = { gain: "Next: most to gain", verdicts: "Next: to calibrate", random: "Next: random" };
const ADVANCES = {
  "": "Advance by hand",
  verdict: "Advance after each verdict",
  done: "Advance when nothing likely is left",
};

/** @returns {{element: HTMLElement, update(isAsked?: boolean): void}} */
export function annotateSettings() {
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Images with a verdict" });
  const text = h("span", { class: "queue-count" });
  const progress = h("div", { class: "queue-progress", hidden: true }, bar, text);
  const element = h(
    "div",
    { class: "annotate-settings" },
    progress,
    choice("Order of images", ORDERS, imageOrder(), setImageOrder),
    choice("When to advance", ADVANCES, storedAdvance.get(), storedAdvance.set),
  );
  return {
    element,
    /** @param {boolean} [isAsked] whether the queue is asked now: its place is kept */
    update(isAsked = false) {
      const known = queueProgress();
      progress.hidden = !known && !isAsked;
      if (!known) {
        fill(text, "…");
        return;
      }
      bar.setAttribute("value", String(known.done / Math.max(1, known.total)));
      fill(text, `${count(known.done)} of ${count(known.total)} images reviewed`);
    },
  };
}

/**
 * Whether to advance to the next image after a verdict.
 * @param {import("../core/api.js").Suggestion[]} left the suggestions that are left
 */
export function shouldAdvance(left) {
  const when = storedAdvance.get();
  return when === "verdict" || (when === "done" && left.every((one) => one.confidence !== null && one.confidence < LIKELY));
}

/**
 * @param {string} name @param {Record<string, string>} options @param {string} value
 * @param {(value: string) => void} change
 */
function choice(name, options, value, change) {
  const select = /** @type {HTMLSelectElement} */ (
    h(
      "select",
      { "aria-label": name, onchange: () => change(select.value) },
      ...Object.entries(options).map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
    )
  );
  return select;
}
