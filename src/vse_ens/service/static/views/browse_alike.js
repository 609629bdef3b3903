/** Beside the images: labels that are used like the one asked for, and where to go on. */

import { ApiError, get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { having, labelsAddress, mapAddress, searchAddress } from "../core/route.js";
import { icon } from "../parts/icon.js";

/** @typedef {import("../core/route.js").Term} Term */
/** @typedef {{label: string, similarity: number}} Similar */

const ALIKE = 10;

/**
 * @param {HTMLElement} beside
 * @param {string} label
 * @param {Term[]} terms
 * @param {boolean} tagged
 * @param {AbortSignal} signal
 */
export async function showAlike(beside, label, terms, tagged, signal) {
  /** @type {Similar[]} */
  const similar = await get("similar/labels", { label, top: ALIKE }, signal).then(
    (answer) => answer.similar,
    (error) => {
      // Of an unknown label the search itself says so.
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
    h("h2", {}, "Used like ", h("em", {}, label)),
    h("ul", { class: "alike" }, ...others.map((one) => row(one, terms, tagged))),
    h("p", { class: "aside" }, h("a", { href: mapAddress(label) }, "Show it on the map")),
    h("p", { class: "aside" }, h("a", { href: labelsAddress(terms) }, "What else would such an image have?")),
  );
}

/** @param {Similar} similar @param {Term[]} terms @param {boolean} tagged */
function row({ label, similarity }, terms, tagged) {
  const meter = h("span", { class: "meter", "aria-hidden": "true" });
  meter.style.setProperty("--share", String(Math.max(0, similarity)));
  const added = searchAddress([...terms, having(label)], tagged);
  return h(
    "li",
    {},
    h("a", { href: searchAddress([having(label)], tagged) }, label),
    h("a", { class: "icon-link", href: added, "aria-label": `Add ${label} to the search`, title: "Add" }, icon("plus")),
    meter,
  );
}
