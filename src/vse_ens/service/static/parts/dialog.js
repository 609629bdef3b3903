/** Modal dialogs, based on the browser's dialog element. */

import { h, uniqueId } from "../core/dom.js";
import { icon } from "./icon.js";

/**
 * @param {string} title
 * @param {...Node} content
 * @returns {HTMLDialogElement} the open dialog; it is removed when closed
 */
export function openDialog(title, ...content) {
  const id = uniqueId("dialog");
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
  // A click on the backdrop has the dialog itself as its target.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Ask for one line of text.
 * @param {{title: string, text: string, label: string, button: string, value?: string, secret?: boolean}} question
 * @returns {Promise<string | null>} null if the dialog was closed
 */
export function askLine({ title, text, label, button, value = "", secret = false }) {
  return new Promise((resolve) => {
    const input = /** @type {HTMLInputElement} */ (
      h("input", {
        type: secret ? "password" : "text",
        id: uniqueId("line"),
        class: "field",
        value,
        maxlength: secret ? 1000 : 100,
        autocomplete: "off",
        spellcheck: "false",
      })
    );
    // Not a form: the content security policy forbids form submission.
    const answer = () => {
      resolve(input.value.trim());
      dialog.close();
    };
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      // Otherwise the key would also press the button that gets focus after the dialog closes.
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
