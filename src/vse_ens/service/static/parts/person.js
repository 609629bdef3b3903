/** The user name, sent with every verdict. */

import { fill, h, visuallyHidden } from "../core/dom.js";
import { storedName } from "../core/storage.js";
import { askLine } from "./dialog.js";
import { icon } from "./icon.js";

/**
 * Make a button show the name and ask for a new one.
 * @param {HTMLElement} button
 */
export function personButton(button) {
  const show = () =>
    fill(
      button,
      icon("person"),
      visuallyHidden("Your name: "),
      h("span", { class: "person-name" }, storedName.get() || "anonymous"),
    );
  button.addEventListener("click", async () => {
    const name = await askLine({
      title: "Your name",
      text: "It is stored with every label you accept or reject. Leave it empty to stay anonymous.",
      label: "Name",
      button: "Save",
      value: storedName.get(),
    });
    if (name !== null) storedName.set(name);
    show();
    button.focus();
  });
  show();
}
