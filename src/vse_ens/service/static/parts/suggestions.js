/** Suggestions as chips: a click accepts, the cross rejects; when the list changes they glide to their new places. */

import { fill, freshId, h, still, unseen } from "../core/dom.js";
import { because, percent } from "../core/words.js";
import { icon } from "./icon.js";
import { hideWhy, tellWhy } from "./why.js";

/** @typedef {import("../core/api.js").Suggestion} Suggestion */
/** @typedef {{accept(suggestion: Suggestion): void, reject(suggestion: Suggestion): void}} Verdicts */

/**
 * @typedef {object} SuggestionList
 * @property {HTMLElement} element
 * @property {(suggestions: Suggestion[]) => void} show
 * @property {() => void} wait until there is something to show
 * @property {() => void} focus on the first
 * @property {() => void} accept what has focus
 * @property {() => void} reject what has focus
 * @property {(key: string) => void} move by an arrow, Home or End
 */

const GLIDE = { duration: 220, easing: "cubic-bezier(.2, .7, .2, 1)" };
const GHOSTS = 12;

/**
 * @param {Verdicts} judge
 * @returns {SuggestionList}
 */
export function suggestionList(judge) {
  const element = h("ul", { class: "suggestions", "aria-label": "Suggested labels" });
  /** @type {Suggestion[]} */
  let shown = [];
  let current = 0;

  const chips = () => /** @type {HTMLElement[]} */ ([...element.querySelectorAll(".suggestion")]);
  const acceptButtons = () => /** @type {HTMLElement[]} */ ([...element.querySelectorAll(".accept")]);

  /** One chip is in the order of Tab; arrows lead to the others. @param {number} place */
  const makeCurrent = (place) => {
    current = Math.max(0, Math.min(place, shown.length - 1));
    for (const [number, chip] of chips().entries())
      for (const button of chip.querySelectorAll("button")) button.tabIndex = number === current ? 0 : -1;
  };

  const focus = (place = current, focusVisible = true) => {
    makeCurrent(place);
    acceptButtons()[current]?.focus(/** @type {FocusOptions} */ ({ focusVisible }));
  };

  /**
   * Only what has focus is judged by a key; otherwise the key leads there first.
   * @param {(suggestion: Suggestion) => void} verdict
   */
  const judgeCurrent = (verdict) => {
    if (!shown.length) return;
    if (element.contains(document.activeElement)) verdict(shown[current]);
    else focus();
  };

  const show = (/** @type {Suggestion[]} */ suggestions) => {
    const hadFocus = element.contains(document.activeElement);
    const byKey = Boolean(element.querySelector(":focus-visible"));
    const places = new Map(chips().map((chip) => [chip.dataset.label, chip.getBoundingClientRect()]));
    hideWhy();
    shown = suggestions;
    element.removeAttribute("aria-busy");
    fill(element, ...suggestions.map((suggestion, place) => chip(suggestion, judge, () => makeCurrent(place))));
    makeCurrent(hadFocus ? current : 0);
    // Who clicks looks at the pointer, who types at the ring.
    if (hadFocus) focus(current, byKey);
    if (places.size && !still()) glide(chips(), places);
  };

  const wait = () => {
    if (shown.length) return;
    element.setAttribute("aria-busy", "true");
    fill(element, ...Array.from({ length: GHOSTS }, () => h("li", { class: "ghost" })));
  };

  return {
    element,
    show,
    wait,
    focus: () => focus(0),
    accept: () => judgeCurrent(judge.accept),
    reject: () => judgeCurrent(judge.reject),
    move: (key) => {
      // Where chips are still gliding they are not where they will be.
      for (const chip of chips()) for (const glide of chip.getAnimations()) glide.finish();
      if (!element.contains(document.activeElement)) focus();
      else focus(neighbour(chips(), current, key));
    },
  };
}

/** @param {Suggestion} suggestion @param {Verdicts} judge @param {() => void} onFocus */
function chip(suggestion, judge, onFocus) {
  const { label, confidence } = suggestion;
  const reasons = suggestion.because ?? [];
  const id = freshId("why");
  const accept = h(
    "button",
    {
      type: "button",
      class: "accept",
      "aria-describedby": id,
      onfocus: onFocus,
      onclick: (/** @type {MouseEvent} */ event) =>
        event.shiftKey ? judge.reject(suggestion) : judge.accept(suggestion),
    },
    icon("plus"),
    unseen("Accept "),
    h("span", { class: "suggestion-name" }, label),
    confidence !== null && h("span", { class: "suggestion-share" }, percent(confidence)),
  );
  const reject = h(
    "button",
    {
      type: "button",
      class: "reject",
      "aria-label": `Reject ${label}`,
      title: "Does not fit (x)",
      onfocus: onFocus,
      onclick: () => judge.reject(suggestion),
    },
    icon("cross"),
  );
  const element = h(
    "li",
    { class: "suggestion" },
    accept,
    reject,
    h("span", { class: "suggestion-why", id }, unseen("because of: "), because(reasons)),
  );
  element.dataset.label = label;
  element.style.setProperty("--share", String(confidence ?? 0));
  tellWhy(element, reasons);
  return element;
}

/**
 * The chip that an arrow leads to: along the reading order, or to the nearest of the row above or below.
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
    .map((chip, place) => ({ place, box: chip.getBoundingClientRect() }))
    .filter(({ box }) => way * (box.top - here.top) > 1)
    .sort(
      (one, other) =>
        way * (one.box.top - other.box.top) ||
        Math.abs(one.box.left - here.left) - Math.abs(other.box.left - here.left),
    );
  return beyond[0]?.place ?? current;
}

/**
 * From where it was to where it is; what is new fades in.
 * @param {HTMLElement[]} chips
 * @param {Map<string | undefined, DOMRect>} places
 */
function glide(chips, places) {
  for (const chip of chips) {
    const before = places.get(chip.dataset.label);
    const now = chip.getBoundingClientRect();
    if (!before) chip.animate([{ opacity: 0 }, { opacity: 1 }], GLIDE);
    else if (before.left !== now.left || before.top !== now.top)
      chip.animate(
        [{ transform: `translate(${before.left - now.left}px, ${before.top - now.top}px)` }, { transform: "none" }],
        GLIDE,
      );
  }
}
