/** Elements without markup: every string becomes a text node, so a label can never inject HTML. */

/**
 * Create an element with attributes, listeners (such as `onclick`) and children.
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
 * Replace the children of an element.
 * @param {Element} element
 * @param {...(Node | string | null | undefined | false)} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null && child !== undefined && child !== false));
}

/**
 * Replace the children and restore focus to the control at the same position.
 * @param {Element} element
 * @param {...(Node | string | null | undefined | false)} children
 */
export function refill(element, ...children) {
  const index = focusable(element).indexOf(document.activeElement ?? element);
  fill(element, ...children);
  if (index >= 0)
    /** @type {HTMLElement | undefined} */ (
      focusable(element)[Math.min(index, focusable(element).length - 1)]
    )?.focus();
}

/** @param {Element} element */
const focusable = (element) => [...element.querySelectorAll("a, button")];

/**
 * Text for screen readers only.
 * @param {string} text
 */
export const visuallyHidden = (text) => h("span", { class: "visually-hidden" }, text);

let used = 0;

/**
 * Return an unused element id.
 * @param {string} stem
 */
export const uniqueId = (stem) => `${stem}-${(used += 1)}`;

/** Whether the user prefers reduced motion. */
export const prefersReducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
