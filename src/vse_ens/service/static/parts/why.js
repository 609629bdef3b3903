/** The reason beside a suggestion, on hover and on focus; Escape puts it away. */

import { fill, h } from "../core/dom.js";
import { reasonBars } from "./reasons.js";

const GAP = 6;
const EDGE = 8;
/** Who passes on the way to another chip does not ask. */
const PAUSE = 300;

/** @type {HTMLElement | null} */
let card = null;
/** @type {HTMLElement | null} */
let anchor = null;
let timer = 0;

/**
 * Show why while the pointer or focus is on an element.
 * @param {HTMLElement} element
 * @param {import("../core/api.js").Reason[]} reasons
 */
export function tellWhy(element, reasons) {
  element.addEventListener("pointerenter", (event) => {
    if (event.pointerType !== "touch") timer = setTimeout(show, PAUSE, element, reasons);
  });
  element.addEventListener("pointerleave", (event) => {
    clearTimeout(timer);
    // The card itself may be pointed at without going away.
    if (!(event.relatedTarget instanceof Node && card?.contains(event.relatedTarget))) hide(element);
  });
  element.addEventListener("focusin", () => element.querySelector(":focus-visible") && show(element, reasons));
  element.addEventListener("focusout", () => hide(element));
}

/** Put the card away, whatever it is beside. */
export function hideWhy() {
  clearTimeout(timer);
  card?.hidePopover();
  anchor = null;
}

/** @param {HTMLElement} element @param {import("../core/api.js").Reason[]} reasons */
function show(element, reasons) {
  card ??= makeCard();
  anchor = element;
  // The sentence is the button's own description; the card is for eyes.
  fill(
    card,
    h("p", {}, reasons.length ? "Because of" : "No known label speaks for it"),
    reasons.length ? reasonBars(reasons) : null,
  );
  card.showPopover();
  place(card, element);
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

/** Below the element, or above it where there is no room. @param {HTMLElement} made @param {HTMLElement} element */
function place(made, element) {
  const target = element.getBoundingClientRect();
  const own = made.getBoundingClientRect();
  const below = target.bottom + GAP + own.height <= innerHeight - EDGE;
  const left = Math.min(Math.max(target.left, EDGE), innerWidth - own.width - EDGE);
  made.style.setProperty("left", `${Math.max(left, EDGE)}px`);
  made.style.setProperty("top", `${below ? target.bottom + GAP : Math.max(target.top - own.height - GAP, EDGE)}px`);
}
