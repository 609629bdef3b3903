/** Beside the results: similar labels and links to other views. */

import { ApiError, get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { labelsAddress, searchAddress, withLabel } from "../core/route.js";
import { icon } from "../parts/icon.js";

/** @typedef {import("../core/route.js").Term} Term */
/** @typedef {{label: string, similarity: number}} Similar */

const TOP_SIMILAR = 10;

/**
 * @param {HTMLElement} beside
 * @param {string} label
 * @param {Term[]} terms
 * @param {boolean} tagged
 * @param {AbortSignal} signal
 */
export async function showSimilar(beside, label, terms, tagged, signal) {
  const heading = h("h2", {}, "Similar to ", h("em", {}, label));
  // At once, so that its column does not appear beside the images later.
  fill(beside, heading);
  /** @type {Similar[]} */
  const similar = await get("similar/labels", { label, top: TOP_SIMILAR }, signal).then(
    (answer) => answer.similar,
    (error) => {
      // The search itself reports an unknown label.
      if (error instanceof ApiError && error.status === 404) return [];
      throw error;
    },
  );
  if (!similar.length) {
    fill(beside);
    return;
  }
  const others = similar.filter((one) => !terms.some((term) => term.label === one.label));
  fill(
    beside,
    heading,
    h("ul", { class: "similar" }, ...others.map((one) => row(one, terms, tagged))),
    h("p", { class: "aside" }, h("a", { href: labelsAddress(terms) }, "Suggest more labels")),
  );
}

/** @param {Similar} similar @param {Term[]} terms @param {boolean} tagged */
function row({ label, similarity }, terms, tagged) {
  const meter = h("span", { class: "meter", "aria-hidden": "true" });
  meter.style.setProperty("--share", String(Math.max(0, similarity)));
  const added = searchAddress([...terms, withLabel(label)], tagged);
  return h(
    "li",
    {},
    h("a", { href: searchAddress([withLabel(label)], tagged) }, label),
    h("a", { class: "icon-link", href: added, "aria-label": `Add ${label} to the search`, title: "Add" }, icon("plus")),
    meter,
  );
}
