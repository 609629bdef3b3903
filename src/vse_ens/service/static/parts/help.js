/** The dialog with keyboard shortcuts. */

import { h } from "../core/dom.js";
import { openDialog } from "./dialog.js";

const KEYS = {
  Everywhere: [
    ["/", "focus the search box"],
    ["?", "show this help"],
    ["Esc", "close, or leave the text box"],
  ],
  Annotate: [
    ["← → ↑ ↓", "move between suggestions"],
    ["1 … 9", "accept the suggestion with this number"],
    ["Shift 1 … 9", "reject it"],
    ["Enter or a", "accept the focused suggestion"],
    ["x or r", "reject it (or Shift-click)"],
    ["u", "undo the last verdict, back to where it was made"],
    ["n  p", "next, previous image"],
  ],
  Browse: [
    ["← → ↑ ↓", "move between images"],
    ["Space", "select or unselect the image"],
    ["Shift ← → ↑ ↓", "extend the selection (or Shift-click)"],
    ["Ctrl A", "select all that are shown"],
    ["A  R", "accept, reject the label for the selection"],
    ["u", "undo the last batch"],
    ["Enter", "open the image"],
    ["Esc", "clear the selection"],
  ],
  "Audit and rules": [
    ["j  k or ↓ ↑", "next, previous finding"],
    ["a", "make the change: add, remove, merge"],
    ["r", "leave it as it is"],
    ["Space", "skip"],
    ["u", "undo"],
  ],
};

/** Open the dialog, unless one is open. */
export function showHelp() {
  if (document.querySelector("dialog[open]")) return;
  const groups = Object.entries(KEYS).map(([name, keys]) =>
    h(
      "section",
      {},
      h("h3", {}, name),
      h(
        "dl",
        { class: "keys" },
        ...keys.map(([key, meaning]) => h("div", {}, h("dt", {}, ...keyElements(key)), h("dd", {}, meaning))),
      ),
    ),
  );
  openDialog("Keyboard shortcuts", h("div", { class: "help" }, ...groups));
}

/** "n  p" as two keys, "Enter or a" with text between. @param {string} keys */
const keyElements = (keys) =>
  keys
    .split(" ")
    .filter(Boolean)
    .flatMap((key, index) => [index ? " " : "", key === "or" ? "or" : h("kbd", {}, key)]);
