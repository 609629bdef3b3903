/** Who judges: a name typed once, sent with every judgement. */

import { fill, h, unseen } from "../core/dom.js";
import { keptName } from "../core/kept.js";
import { askLine } from "./dialog.js";
import { icon } from "./icon.js";

/**
 * Let a button show the name and ask for another.
 * @param {HTMLElement} button
 */
export function personButton(button) {
  const show = () =>
    fill(
      button,
      icon("person"),
      unseen("Your name: "),
      h("span", { class: "person-name" }, keptName.get() || "anonymous"),
    );
  button.addEventListener("click", async () => {
    const name = await askLine({
      title: "Who are you?",
      text: "It is kept with every label you accept or reject. Leave it empty to stay anonymous.",
      label: "Your name",
      button: "Keep",
      value: keptName.get(),
    });
    if (name !== null) keptName.set(name);
    show();
    button.focus();
  });
  show();
}
