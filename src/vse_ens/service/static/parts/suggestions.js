/** Suggestions as chips: click to accept, × to reject; changes of order are animated. */

import { fill, h, prefersReducedMotion, uniqueId, visuallyHidden } from "../core/dom.js";
import { percent, reasonsSentence } from "../core/format.js";
import { icon } from "./icon.js";
import { hideWhy, showWhyOnHover } from "./why.js";

/** @typedef {import("../core/api.js").Suggestion} Suggestion */
/** @typedef {{accept(suggestion: Suggestion): void, reject(suggestion: Suggestion): void}} Verdicts */

/**
 * @typedef {object} SuggestionList
 * @property {HTMLElement} element
 * @property {(suggestions: Suggestion[]) => void} show
 * @property {() => void} wait show placeholders until the first suggestions
 * @property {() => void} focus the first
 * @property {() => void} accept the focused one
 * @property {() => void} reject the focused one
 * @property {(key: string) => void} move by an arrow, Home or End
 */

const ANIMATION = { duration: 220, easing: "cubic-bezier(.2, .7, .2, 1)" };
const PLACEHOLDERS = 12;

/**
 * @param {Verdicts} handlers
 * @returns {SuggestionList}
 */
export function suggestionList(handlers) {
  const element = h("ul", { class: "suggestions", "aria-label": "Suggested labels" });
  /** @type {Suggestion[]} */
  let shown = [];
  let current = 0;

  const chips = () => /** @type {HTMLElement[]} */ ([...element.querySelectorAll(".suggestion")]);
  const acceptButtons = () => /** @type {HTMLElement[]} */ ([...element.querySelectorAll(".accept")]);

  /** Only one chip is in the tab order; arrow keys move to the others. @param {number} index */
  const makeCurrent = (index) => {
    current = Math.max(0, Math.min(index, shown.length - 1));
    for (const [number, chip] of chips().entries())
      for (const button of chip.querySelectorAll("button")) button.tabIndex = number === current ? 0 : -1;
  };

  const focus = (index = current, focusVisible = true) => {
    makeCurrent(index);
    acceptButtons()[current]?.focus(/** @type {FocusOptions} */ ({ focusVisible }));
  };

  /**
   * Apply a key to the focused chip; without focus, the key moves focus there first.
   * @param {(suggestion: Suggestion) => void} verdict
   */
  const applyToCurrent = (verdict) => {
    if (!shown.length) return;
    if (element.contains(document.activeElement)) verdict(shown[current]);
    else focus();
  };

  const show = (/** @type {Suggestion[]} */ suggestions) => {
    const hadFocus = element.contains(document.activeElement);
    const byKey = Boolean(element.querySelector(":focus-visible"));
    const positions = new Map(chips().map((chip) => [chip.dataset.label, chip.getBoundingClientRect()]));
    hideWhy();
    shown = suggestions;
    element.removeAttribute("aria-busy");
    fill(element, ...suggestions.map((suggestion, index) => chip(suggestion, handlers, () => makeCurrent(index))));
    makeCurrent(hadFocus ? current : 0);
    // The focus ring is for keyboard users.
    if (hadFocus) focus(current, byKey);
    if (positions.size && !prefersReducedMotion()) animateMoves(chips(), positions);
  };

  const wait = () => {
    if (shown.length) return;
    element.setAttribute("aria-busy", "true");
    fill(element, ...Array.from({ length: PLACEHOLDERS }, () => h("li", { class: "placeholder" })));
  };

  return {
    element,
    show,
    wait,
    focus: () => focus(0),
    accept: () => applyToCurrent(handlers.accept),
    reject: () => applyToCurrent(handlers.reject),
    move: (key) => {
      // Finish animations first: neighbours are found by position.
      for (const chip of chips()) for (const animation of chip.getAnimations()) animation.finish();
      if (!element.contains(document.activeElement)) focus();
      else focus(neighbour(chips(), current, key));
    },
  };
}

/** @param {Suggestion} suggestion @param {Verdicts} handlers @param {() => void} onFocus */
function chip(suggestion, handlers, onFocus) {
  const { label, confidence } = suggestion;
  const reasons = suggestion.because ?? [];
  const id = uniqueId("why");
  const accept = h(
    "button",
    {
      type: "button",
      class: "accept",
      "aria-describedby": id,
      onfocus: onFocus,
      onclick: (/** @type {MouseEvent} */ event) =>
        event.shiftKey ? handlers.reject(suggestion) : handlers.accept(suggestion),
    },
    icon("plus"),
    visuallyHidden("Accept "),
    h("span", { class: "suggestion-name" }, label),
    confidence !== null && h("span", { class: "suggestion-share" }, percent(confidence)),
  );
  const reject = h(
    "button",
    {
      type: "button",
      class: "reject",
      "aria-label": `Reject ${label}`,
      title: "Reject (x)",
      onfocus: onFocus,
      onclick: () => handlers.reject(suggestion),
    },
    icon("cross"),
  );
  const element = h(
    "li",
    { class: "suggestion" },
    accept,
    reject,
    h("span", { class: "suggestion-why", id }, visuallyHidden("because of: "), reasonsSentence(reasons)),
  );
  element.dataset.label = label;
  element.style.setProperty("--share", String(confidence ?? 0));
  showWhyOnHover(element, reasons);
  return element;
}

/**
 * Return the chip for an arrow key: in reading order, or the nearest in the row above or below.
 * @param {HTMLElement[]} chips
 * @param {number} current
 * @param {string} key
 */
function neighbour(chips, current, key) {
  if (key === "ArrowRight") return current + 1;
  if (key === "ArrowLeft") return current - 1;
  if (key === "Home") return 0;
  if (key === "End") return chips.length - 1;
  const here = chips[current].getBoundingClientRect();
  const way = key === "ArrowDown" ? 1 : -1;
  const beyond = chips
    .map((chip, index) => ({ index, box: chip.getBoundingClientRect() }))
    .filter(({ box }) => way * (box.top - here.top) > 1)
    .sort(
      (one, other) =>
        way * (one.box.top - other.box.top) ||
        Math.abs(one.box.left - here.left) - Math.abs(other.box.left - here.left),
    );
  return beyond[0]?.index ?? current;
}

/**
 * Animate chips from their old to their new position; new chips fade in.
 * @param {HTMLElement[]} chips
 * @param {Map<string | undefined, DOMRect>} positions
 */
function animateMoves(chips, positions) {
  for (const chip of chips) {
    const before = positions.get(chip.dataset.label);
    const now = chip.getBoundingClientRect();
    if (!before) chip.animate([{ opacity: 0 }, { opacity: 1 }], ANIMATION);
    else if (before.left !== now.left || before.top !== now.top)
      chip.animate(
        [{ transform: `translate(${before.left - now.left}px, ${before.top - now.top}px)` }, { transform: "none" }],
        ANIMATION,
      );
  }
}
