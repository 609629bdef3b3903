/** Suggestions as chips: click or a number accepts, × or Shift rejects; changes of order are animated. */

import { fill, h, prefersReducedMotion, uniqueId, visuallyHidden } from "../core/dom.js";
import { percent, reasonsSentence } from "../core/format.js";
import { byNamespace, namespaceOf } from "../core/namespaces.js";
import { MOMENT, Seen } from "../core/seen.js";
import { icon } from "./icon.js";
import { whyLine } from "./why.js";

/** @typedef {import("../core/api.js").Suggestion} Suggestion */
/** @typedef {{accept(suggestion: Suggestion): void, reject(suggestion: Suggestion): void}} Verdicts */

/**
 * @typedef {object} SuggestionList
 * @property {HTMLElement} element
 * @property {HTMLElement} why a line with the reasons for one suggestion
 * @property {(suggestions: Suggestion[], keepNumbers?: boolean) => void} show
 * @property {() => void} wait show placeholders until the first suggestions
 * @property {() => void} focus the first
 * @property {() => void} accept the focused one
 * @property {() => void} reject the focused one
 * @property {(number: number, reject: boolean) => void} decide on the one with a number
 * @property {(key: string) => void} move by an arrow, Home or End
 */

const ANIMATION = { duration: 220, easing: "cubic-bezier(.2, .7, .2, 1)" };
const PLACEHOLDERS = 12;
const NUMBERED = 9;

/**
 * @param {Verdicts} handlers
 * @returns {SuggestionList}
 */
export function suggestionList(handlers) {
  const element = h("div", { class: "suggestion-groups" });
  const why = whyLine();
  const seen = new Seen();
  /** In the order of the page: by namespace, each from the best to the last. @type {Suggestion[]} */
  let shown = [];
  /** @type {string[]} */
  let numbered = [];
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

  /** Verdicts on what the reader has seen. @type {Verdicts} */
  const verdicts = {
    accept: (suggestion) => seen.has(suggestion.label) && handlers.accept(suggestion),
    reject: (suggestion) => seen.has(suggestion.label) && handlers.reject(suggestion),
  };

  /** The pointer reaches a chip as soon as verdicts on it count. */
  const wakeSeen = () => {
    for (const chip of chips()) if (seen.has(chip.dataset.label ?? "")) chip.classList.remove("fresh");
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

  const show = (/** @type {Suggestion[]} */ suggestions, keepNumbers = false) => {
    const hadFocus = element.contains(document.activeElement);
    const byKey = Boolean(element.querySelector(":focus-visible"));
    const positions = new Map(chips().map((chip) => [chip.dataset.label, chip.getBoundingClientRect()]));
    const groups = byNamespace(suggestions);
    why.clear();
    shown = groups.flatMap((group) => group.items);
    const labels = shown.map((one) => one.label);
    if (!keepNumbers) numbered = labels.slice(0, NUMBERED);
    seen.show(labels, numbered);
    let index = 0;
    const list = (/** @type {string} */ name, /** @type {Suggestion[]} */ items) =>
      h(
        "ul",
        { class: "suggestions", "aria-label": name },
        ...items.map((suggestion) => {
          const place = index++;
          const made = chip(suggestion, numbered.indexOf(suggestion.label) + 1, verdicts, () => makeCurrent(place));
          if (!seen.has(suggestion.label)) made.classList.add("fresh");
          why.attach(made, suggestion.label, suggestion.because ?? []);
          return made;
        }),
      );
    element.removeAttribute("aria-busy");
    setTimeout(wakeSeen, MOMENT + 1);
    if (groups.length < 2) fill(element, list("Suggested labels", shown));
    else
      fill(
        element,
        ...groups.map(({ namespace, items }) =>
          h(
            "section",
            { class: "suggestion-group" },
            h("h3", {}, namespace ? namespace.slice(0, -1) : "other labels"),
            list(`Suggested labels, ${namespace || "without a namespace"}`, items),
          ),
        ),
      );
    makeCurrent(hadFocus ? current : 0);
    // The focus ring is for keyboard users.
    if (hadFocus) focus(current, byKey);
    if (positions.size && !prefersReducedMotion()) animateMoves(chips(), positions);
  };

  const wait = () => {
    if (shown.length) return;
    element.setAttribute("aria-busy", "true");
    const placeholders = Array.from({ length: PLACEHOLDERS }, () => h("li", { class: "placeholder" }));
    fill(element, h("ul", { class: "suggestions" }, ...placeholders));
  };

  // A held Enter would press each button that gets focus in turn.
  element.addEventListener("keydown", (event) => event.repeat && event.key === "Enter" && event.preventDefault());

  return {
    element,
    why: why.element,
    show,
    wait,
    focus: () => focus(0),
    accept: () => applyToCurrent(verdicts.accept),
    reject: () => applyToCurrent(verdicts.reject),
    decide: (number, reject) => {
      const label = seen.numbered(number);
      const suggestion = shown.find((one) => one.label === label);
      if (suggestion) (reject ? verdicts.reject : verdicts.accept)(suggestion);
    },
    move: (key) => {
      // Finish animations first: neighbors are found by position.
      for (const chip of chips()) for (const animation of chip.getAnimations()) animation.finish();
      if (!element.contains(document.activeElement)) focus();
      else focus(neighbor(chips(), current, key));
    },
  };
}

/** What the percentage is, and what it is not. @param {number} confidence @param {number | null} hit */
const chances = (confidence, hit) =>
  `${percent(confidence)} likely to be right${hit === null ? "" : `; hit: ${percent(hit)} likely to be the one, if one label is missing`}`;

/**
 * @param {Suggestion} suggestion @param {number} number 0 without one @param {Verdicts} verdicts
 * @param {() => void} onFocus
 */
function chip(suggestion, number, verdicts, onFocus) {
  const { label, confidence, hit = null } = suggestion;
  const reasons = suggestion.because ?? [];
  const id = uniqueId("why");
  const prefix = namespaceOf(label);
  const accept = h(
    "button",
    {
      type: "button",
      class: "accept",
      "aria-describedby": id,
      "aria-keyshortcuts": number > 0 && String(number),
      onfocus: onFocus,
      onclick: (/** @type {MouseEvent} */ event) =>
        event.shiftKey ? verdicts.reject(suggestion) : verdicts.accept(suggestion),
    },
    number > 0 ? h("span", { class: "suggestion-number", "aria-hidden": "true" }, number) : icon("plus"),
    visuallyHidden("Accept "),
    h(
      "span",
      { class: "suggestion-name" },
      prefix && h("span", { class: "suggestion-prefix" }, prefix),
      label.slice(prefix.length),
    ),
    confidence !== null && h("span", { class: "suggestion-share", title: chances(confidence, hit) }, percent(confidence)),
  );
  const reject = h(
    "button",
    {
      type: "button",
      class: "reject",
      "aria-label": `Reject ${label}`,
      title: number ? `Reject (x, or Shift and ${number})` : "Reject (x)",
      onfocus: onFocus,
      onclick: () => verdicts.reject(suggestion),
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
  return element;
}

/**
 * Return the chip for an arrow key: in reading order, or the nearest in the row above or below.
 * @param {HTMLElement[]} chips
 * @param {number} current
 * @param {string} key
 */
function neighbor(chips, current, key) {
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
