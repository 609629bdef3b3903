/** How "next" works, and what percentages assume: the order of images, when to advance, how complete labels are. */

import { postChange } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { count, percent } from "../core/format.js";
import { imageOrder, queueProgress, setImageOrder } from "../core/images.js";
import { modelCard } from "../core/model.js";
import { storedAdvance } from "../core/storage.js";
import { orToast } from "./toast.js";

/** Below this confidence, a suggestion does not keep an image open. */
const LIKELY = 0.1;
/** Shares of right labels to choose from. */
const SHARES = [0.3, 0.5, 0.7, 0.9];

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
  const assumed = h("label", { title: "The percentages beside suggestions rest on this" });
  fill(assumed, "Labels complete to ", choice("", [["", "…, estimated"]], "", () => undefined)); // keeps the place
  modelCard().then((card) => completeness(assumed, card), () => undefined);
  const element = h(
    "div",
    { class: "annotate-settings" },
    progress,
    assumed,
    choice("Order of images", Object.entries(ORDERS), imageOrder(), setImageOrder),
    choice("When to advance", Object.entries(ADVANCES), storedAdvance.get(), storedAdvance.set),
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
 * Choose the share of right labels that are recorded.
 * @param {HTMLElement} host
 * @param {import("../core/model.js").ModelCard} card
 */
function completeness(host, { confidence, read_only: readOnly }) {
  host.hidden = !confidence || Boolean(readOnly);
  if (!confidence) return;
  const { completeness: share, given } = confidence;
  const now = given ? String(share) : "";
  const shares = [...new Set([...SHARES, ...(given ? [share] : [])])].sort((one, other) => one - other);
  const options = [["", given ? "estimated" : `${percent(share)}, estimated`], ...shares.map((one) => [String(one), percent(one)])];
  const change = (/** @type {string} */ value) =>
    orToast(async () => {
      await postChange("completeness", { completeness: value ? Number(value) : null });
      location.reload();
    });
  fill(host, "Labels complete to ", choice("How complete the labels are", options, now, change));
}

/**
 * @param {string} name @param {Iterable<string[]>} options @param {string} value
 * @param {(value: string) => void} change
 */
function choice(name, options, value, change) {
  const select = /** @type {HTMLSelectElement} */ (
    h(
      "select",
      { "aria-label": name, onchange: () => change(select.value) },
      ...[...options].map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
    )
  );
  return select;
}
