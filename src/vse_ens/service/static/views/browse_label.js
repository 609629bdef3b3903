/** Label first: images that likely lack a label or likely have it by mistake, with a slider for the confidence. */

import { get } from "../core/api.js";
import { fill, h, uniqueId } from "../core/dom.js";
import { count, countOf, percent } from "../core/format.js";
import { orToast } from "../parts/toast.js";
import { showChoices } from "./browse_choices.js";

const PAUSE = 150;

/** @typedef {{images: import("../parts/image_grid.js").GridItem[], total: number, above: Record<string, number>, scored: number}} GridPage */

/**
 * @param {HTMLElement} head the slider goes here
 * @param {HTMLElement} results
 * @param {string} label
 * @param {"missing" | "wrong"} kind
 * @param {AbortSignal} signal
 */
export async function showLabelGrid(head, results, label, kind, signal) {
  const slider = confidenceSlider();
  const progress = h("p", { class: "aside scoring", hidden: true });
  // Before the images, which it would move.
  fill(head, slider.element, progress);
  let timer = 0;
  slider.input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => orToast(() => choices.reload()), PAUSE);
  });
  const choices = await showChoices(results, {
    name: kind === "missing" ? `Images that may lack ${label}` : `Images that may have ${label} by mistake`,
    labels: [label],
    suggested: kind === "missing",
    verbs: kind === "missing" ? { accept: "Add", reject: "Not there" } : { accept: "Keep", reject: "Remove" },
    load: (offset, limit) =>
      get("grid", { label, kind, offset, limit, min_confidence: slider.value() }, signal),
    loaded: (page) => {
      const { above, scored } = /** @type {GridPage} */ (page);
      slider.show(above, page.total);
      progress.hidden = scored >= 1;
      progress.textContent = `Scoring all images once: ${percent(scored)} so far; the others are not in the list yet.`;
      if (scored < 1 && !signal.aborted) setTimeout(() => signal.aborted || orToast(() => choices.reload()), 5_000);
    },
    none: () => {
      if (slider.value()) return `No image has a confidence of ${percent(slider.value())} or more; move the slider to the left.`;
      return `No image without a verdict is likely to ${kind === "missing" ? "lack this label" : "have this label by mistake"}.`;
    },
    signal,
  });
}

/** A slider that says how many images lie above it. */
function confidenceSlider() {
  const id = uniqueId("confidence");
  const input = /** @type {HTMLInputElement} */ (
    h("input", { type: "range", id, min: 0, max: 0.95, step: 0.05, value: 0 })
  );
  const output = h("output", { for: id, class: "slider-count" }, "any");
  /** @type {Record<string, number>} */
  let above = {};
  let all = 0;
  const text = () => {
    const value = Number(input.value);
    const number = value ? (above[String(value)] ?? 0) : all;
    output.textContent = value ? `${percent(value)} or more: ${countOf(number, "image")}` : `any: ${count(number)}`;
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", text);
  const element = h("div", { class: "slider" }, h("label", { for: id }, "Confidence"), input, output);
  return {
    element,
    input,
    value: () => Number(input.value),
    /** @param {Record<string, number>} counts @param {number} total with the confidence of the slider */
    show(counts, total) {
      above = counts;
      if (!Number(input.value)) all = total;
      // Not where there are no images: what is below would move.
      element.hidden = !Object.keys(counts).length && all > 0;
      text();
    },
  };
}
