/** A label that is held, rejected or asked for: its name, and what can be done with it. */

import { h } from "../core/dom.js";
import { having, searchAddress } from "../core/route.js";
import { icon } from "./icon.js";

/**
 * @param {object} shape
 * @param {string} shape.label
 * @param {"data" | "new" | "rejected" | "with" | "without"} shape.kind
 * @param {Parameters<typeof icon>[0]} shape.drawing
 * @param {string} shape.action what the button does, for its name
 * @param {() => void} shape.act
 * @param {boolean} [shape.linked] the name leads to the images behind it
 */
export function labelChip({ label, kind, drawing, action, act, linked = true }) {
  return h(
    "li",
    { class: `label-chip ${kind}` },
    linked
      ? h("a", { href: searchAddress([having(label)]), title: `Images behind ${label}` }, label)
      : h("span", {}, label),
    h("button", { type: "button", "aria-label": action, title: action, onclick: act }, icon(drawing)),
  );
}
