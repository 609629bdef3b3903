/** A card with the reasons for a suggestion, on hover and focus; Escape hides it. */

import { fill, h } from "../core/dom.js";
import { reasonBars } from "./reasons.js";

const GAP = 6;
const EDGE = 8;
/** Delay, so that moving across a chip does not open the card. */
const PAUSE = 300;

/** @type {HTMLElement | null} */
let card = null;
/** @type {HTMLElement | null} */
let anchor = null;
let timer = 0;

/**
 * Show the reasons while an element is hovered or focused.
 * @param {HTMLElement} element
 * @param {import("../core/api.js").Reason[]} reasons
 */
export function showWhyOnHover(element, reasons) {
  element.addEventListener("pointerenter", (event) => {
    if (event.pointerType !== "touch") timer = setTimeout(show, PAUSE, element, reasons);
  });
  element.addEventListener("pointerleave", (event) => {
    clearTimeout(timer);
    // Moving the pointer onto the card keeps it open.
    if (!(event.relatedTarget instanceof Node && card?.contains(event.relatedTarget))) hide(element);
  });
  element.addEventListener("focusin", () => element.querySelector(":focus-visible") && show(element, reasons));
  element.addEventListener("focusout", () => hide(element));
}

/** Hide the card. */
export function hideWhy() {
  clearTimeout(timer);
  card?.hidePopover();
  anchor = null;
}

/** @param {HTMLElement} element @param {import("../core/api.js").Reason[]} reasons */
function show(element, reasons) {
  card ??= makeCard();
  anchor = element;
  // Screen readers get the same from the button's description.
  fill(
    card,
    h("p", {}, reasons.length ? "Because of" : "No known label supports it"),
    reasons.length ? reasonBars(reasons) : null,
  );
  card.showPopover();
  position(card, element);
}

/** @param {HTMLElement} element */
function hide(element) {
  if (anchor === element) hideWhy();
}

function makeCard() {
  const made = h("div", { class: "why", popover: "manual", "aria-hidden": "true" });
  made.addEventListener("pointerleave", hideWhy);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hideWhy());
  addEventListener("scroll", hideWhy, { passive: true, capture: true });
  addEventListener("hashchange", hideWhy);
  document.body.append(made);
  return made;
}

/** Put the card below the element, or above it. @param {HTMLElement} made @param {HTMLElement} element */
function position(made, element) {
  const target = element.getBoundingClientRect();
  const own = made.getBoundingClientRect();
  const below = target.bottom + GAP + own.height <= innerHeight - EDGE;
  const left = Math.min(Math.max(target.left, EDGE), innerWidth - own.width - EDGE);
  made.style.setProperty("left", `${Math.max(left, EDGE)}px`);
  made.style.setProperty("top", `${below ? target.bottom + GAP : Math.max(target.top - own.height - GAP, EDGE)}px`);
}
