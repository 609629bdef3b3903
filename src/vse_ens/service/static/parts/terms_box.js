/** A search box with chips for included and excluded labels. */

import { fill, h, visuallyHidden } from "../core/dom.js";
import { labels } from "./completers.js";
import { combobox } from "./combobox.js";
import { icon } from "./icon.js";

/** @typedef {import("../core/route.js").Term} Term */

/**
 * @param {{label: string, placeholder: string, change: (terms: Term[]) => void}} shape
 * @returns {{element: HTMLElement, show(terms: Term[]): void, input: HTMLInputElement}}
 */
export function termsBox({ label, placeholder, change }) {
  /** @type {Term[]} */
  let terms = [];
  const chips = h("ul", { class: "terms", "aria-label": "Search terms" });
  const box = combobox({
    label,
    placeholder,
    main: true,
    complete: (typed, signal) => {
      const without = typed.startsWith("-");
      const add = (/** @type {string} */ name) => change([...terms, { label: name, without }]);
      const exclude = () => terms.map((term) => term.label);
      const wanted = () => terms.filter((term) => !term.without).map((term) => term.label);
      return labels(add, { exclude, labels: wanted, group: without ? "Without" : "With" })(
        without ? typed.slice(1).trim() : typed,
        signal,
      );
    },
    onEmptyBackspace: () => terms.length && change(terms.slice(0, -1)),
  });
  const show = (/** @type {Term[]} */ shown) => {
    terms = shown;
    fill(chips, ...terms.map((term) => chip(term)));
    chips.hidden = !terms.length;
  };
  const chip = (/** @type {Term} */ term) =>
    h(
      "li",
      { class: `label-chip ${term.without ? "without" : "with"}` },
      h(
        "button",
        {
          type: "button",
          class: "sign",
          title: term.without ? "Include this label" : "Exclude this label",
          onclick: () => change(terms.map((other) => (other === term ? { ...term, without: !term.without } : other))),
        },
        icon(term.without ? "minus" : "check"),
        visuallyHidden(term.without ? "without " : "with "),
        term.label,
      ),
      h(
        "button",
        {
          type: "button",
          "aria-label": `Remove ${term.label}`,
          title: "Remove",
          onclick: () => change(terms.filter((other) => other !== term)),
        },
        icon("cross"),
      ),
    );
  show([]);
  return { element: h("div", { class: "terms-box" }, chips, box.element), show, input: box.input };
}
