/** A chip for a current, rejected or searched label, with one button. */

import { h } from "../core/dom.js";
import { searchAddress, withLabel } from "../core/route.js";
import { icon } from "./icon.js";

/**
 * @param {object} shape
 * @param {string} shape.label
 * @param {"data" | "new" | "rejected"} shape.kind
 * @param {Parameters<typeof icon>[0]} shape.drawing
 * @param {string} shape.action accessible name of the button
 * @param {() => void} shape.act
 */
export function labelChip({ label, kind, drawing, action, act }) {
  return h(
    "li",
    { class: `label-chip ${kind}` },
    h("a", { href: searchAddress([withLabel(label)]), title: `Images for ${label}` }, label),
    h("button", { type: "button", "aria-label": action, title: action, onclick: act }, icon(drawing)),
  );
}
