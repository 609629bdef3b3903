/** A window over the page: the browser's own dialog, which keeps focus inside and closes on Escape. */

import { freshId, h } from "../core/dom.js";
import { icon } from "./icon.js";

/**
 * @param {string} title
 * @param {...Node} content
 * @returns {HTMLDialogElement} open, in the page; gone once it is closed
 */
export function openDialog(title, ...content) {
  const id = freshId("dialog");
  const close = h(
    "button",
    { type: "button", class: "quiet icon-only", "aria-label": "Close", onclick: () => dialog.close() },
    icon("cross"),
  );
  const dialog = /** @type {HTMLDialogElement} */ (
    h(
      "dialog",
      { "aria-labelledby": id },
      h("div", { class: "dialog-head" }, h("h2", { id }, title), close),
      ...content,
    )
  );
  dialog.addEventListener("close", () => dialog.remove());
  // A click beside it is a click on the dialog itself, whose padding is its children's.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Ask for one line of text.
 * @param {{title: string, text: string, label: string, button: string, value?: string, secret?: boolean}} question
 * @returns {Promise<string | null>} null if the dialog was closed without an answer
 */
export function askLine({ title, text, label, button, value = "", secret = false }) {
  return new Promise((resolve) => {
    const input = /** @type {HTMLInputElement} */ (
      h("input", {
        type: secret ? "password" : "text",
        id: freshId("line"),
        class: "field",
        value,
        maxlength: secret ? 1000 : 100,
        autocomplete: "off",
        spellcheck: "false",
      })
    );
    // Not a submitted form: the page's policy forbids forms to go anywhere.
    const answer = () => {
      resolve(input.value.trim());
      dialog.close();
    };
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      // Or the key would go on to press the button that has focus once the dialog is gone.
      event.preventDefault();
      answer();
    });
    const dialog = openDialog(
      title,
      h("p", {}, text),
      h("label", { for: input.id }, label),
      h("div", { class: "line" }, input, h("button", { type: "button", class: "primary", onclick: answer }, button)),
    );
    dialog.addEventListener("close", () => resolve(null));
    input.focus();
    input.select();
  });
}
