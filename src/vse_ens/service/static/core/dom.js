/** Elements without markup: every string becomes a text node, so whatever a label is called, it stays text. */

/**
 * An element with attributes, listeners (`onclick` and the like) and children.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes] null, undefined and false are left out; true is an empty attribute
 * @param {...(Node | string | number | null | undefined | false)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.filter((child) => child !== null && child !== undefined && child !== false).map(textOrNode),
  );
  return element;
}

/** @param {Node | string | number} child */
const textOrNode = (child) => (child instanceof Node ? child : String(child));

/**
 * Give an element other children.
 * @param {Element} element
 * @param {...(Node | string | null | undefined | false)} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null && child !== undefined && child !== false));
}

/**
 * The same, with focus kept at its place in the row: what was focused is made anew, and must not be lost.
 * @param {Element} element
 * @param {...(Node | string | null | undefined | false)} children
 */
export function refill(element, ...children) {
  const place = focusable(element).indexOf(document.activeElement ?? element);
  fill(element, ...children);
  if (place >= 0)
    /** @type {HTMLElement | undefined} */ (
      focusable(element)[Math.min(place, focusable(element).length - 1)]
    )?.focus();
}

/** @param {Element} element */
const focusable = (element) => [...element.querySelectorAll("a, button")];

/**
 * Text that only a screen reader says.
 * @param {string} text
 */
export const unseen = (text) => h("span", { class: "unseen" }, text);

let used = 0;

/**
 * An id no other element has.
 * @param {string} stem
 */
export const freshId = (stem) => `${stem}-${(used += 1)}`;

/** Whether motion should be left out. */
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
