/** A text box with completions from the service (the ARIA combobox pattern). */

import { announce } from "../core/announcer.js";
import { fill, h, uniqueId } from "../core/dom.js";
import { countOf } from "../core/format.js";
import { icon } from "./icon.js";
import { isAborted, toast } from "./toast.js";

/** @typedef {{text: string, detail?: string, group?: string, choose: () => void}} Option */
/** @typedef {(typed: string, signal: AbortSignal) => Promise<Option[]>} Completer */

const PAUSE = 90;

/**
 * @param {object} shape
 * @param {string} shape.label accessible name
 * @param {string} shape.placeholder
 * @param {Completer} shape.complete
 * @param {boolean} [shape.main] whether "/" focuses it
 * @param {boolean} [shape.plain] without the search icon
 * @param {() => void} [shape.onEmptyBackspace]
 * @returns {{element: HTMLElement, input: HTMLInputElement}}
 */
export function combobox({ label, placeholder, complete, main = false, plain = false, onEmptyBackspace }) {
  const id = uniqueId("options");
  const list = h("ul", { id, class: "options", role: "listbox", "aria-label": label, hidden: true });
  const input = /** @type {HTMLInputElement} */ (
    h("input", {
      type: "text",
      role: "combobox",
      "aria-label": label,
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": id,
      placeholder,
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      enterkeyhint: "go",
      maxlength: 1000,
      "data-main": main,
    })
  );
  /** @type {Option[]} */
  let options = [];
  let active = -1;
  let request = new AbortController();
  let timer = 0;
  /** Set if Enter is pressed before the options arrive. */
  let chooseWhenLoaded = false;

  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    active = -1;
  };

  const mark = (/** @type {number} */ index) => {
    active = index;
    for (const [number, option] of optionElements().entries()) {
      option.setAttribute("aria-selected", String(number === active));
      if (number === active) {
        input.setAttribute("aria-activedescendant", option.id);
        option.scrollIntoView({ block: "nearest" });
      }
    }
    if (active < 0) input.removeAttribute("aria-activedescendant");
  };

  const choose = (/** @type {Option} */ option) => {
    request.abort();
    clearTimeout(timer);
    chooseWhenLoaded = false;
    input.value = "";
    options = [];
    close();
    option.choose();
  };

  const optionElements = () => /** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll("[role=option]"));

  const show = () => {
    /** @type {Node[]} */
    const rows = [];
    let group = "";
    for (const [index, option] of options.entries()) {
      if (option.group && option.group !== group)
        rows.push(h("li", { class: "options-group", role: "presentation" }, option.group));
      group = option.group ?? "";
      rows.push(
        h(
          "li",
          {
            role: "option",
            id: `${id}-${index}`,
            "aria-selected": "false",
            onclick: () => choose(option),
            onmousemove: () => active !== index && mark(index),
          },
          h("span", { class: "option-text" }, option.text),
          option.detail && h("span", { class: "option-detail" }, option.detail),
        ),
      );
    }
    if (!rows.length) rows.push(h("li", { class: "options-none", role: "presentation" }, "No matches."));
    fill(list, ...rows);
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    mark(-1);
    announce(options.length ? `${countOf(options.length, "match", "matches")}.` : "No matches.");
  };

  const refresh = async () => {
    request.abort();
    request = new AbortController();
    const { signal } = request;
    try {
      options = await complete(input.value.trim(), signal);
    } catch (error) {
      if (!isAborted(error)) toast(error instanceof Error ? error.message : String(error));
      return;
    }
    if (signal.aborted || document.activeElement !== input) return;
    if (chooseWhenLoaded && options.length) choose(best());
    else show();
  };

  /** The option that Enter chooses: the marked one, an exact match, or the first. */
  const best = () => {
    const typed = input.value.trim().toLowerCase();
    return options[active] ?? options.find((option) => option.text.toLowerCase() === typed) ?? options[0];
  };

  const soon = () => {
    clearTimeout(timer);
    chooseWhenLoaded = false;
    options = [];
    timer = setTimeout(refresh, PAUSE);
  };

  input.addEventListener("input", soon);
  input.addEventListener("click", () => list.hidden && soon());
  input.addEventListener("blur", () => {
    request.abort();
    clearTimeout(timer);
    close();
  });
  // Keep focus in the box while an option is clicked.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  input.addEventListener("keydown", (event) => {
    const open = !list.hidden && options.length > 0;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (open) mark((active + step + (active < 0 && step < 0 ? 1 : 0) + options.length) % options.length);
      else soon();
    } else if (event.key === "Enter") {
      if (open) choose(best());
      else if (input.value.trim()) chooseWhenLoaded = true;
    } else if (event.key === "Escape") {
      if (list.hidden) input.blur();
      else close();
    } else if (event.key === "Backspace" && !input.value && onEmptyBackspace) {
      onEmptyBackspace();
    } else {
      return;
    }
    event.preventDefault();
  });
  return { element: h("div", { class: "combobox" }, plain ? null : icon("search"), input, list), input };
}
