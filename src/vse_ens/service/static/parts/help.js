/** The keys, on a page of their own. */

import { h } from "../core/dom.js";
import { openDialog } from "./dialog.js";

const KEYS = {
  Everywhere: [
    ["/", "to the search box"],
    ["?", "this help"],
    ["Esc", "close, or leave the box"],
  ],
  Annotate: [
    ["← → ↑ ↓", "move among suggestions"],
    ["Enter or a", "accept the suggestion"],
    ["x or r", "reject it (or Shift-click)"],
    ["u", "undo the last judgement"],
    ["n  p", "next, previous image"],
  ],
  Audit: [
    ["j  k or ↓ ↑", "next, previous finding"],
    ["a", "agree"],
    ["r", "disagree"],
    ["Space", "skip"],
    ["u", "undo"],
  ],
  Map: [
    ["← → ↑ ↓", "move"],
    ["+  −", "closer, farther"],
    ["0", "the whole map"],
    ["Enter", "browse the label in the middle"],
  ],
};

/** Open it, unless it is open. */
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
        ...keys.map(([key, meaning]) => h("div", {}, h("dt", {}, ...pressed(key)), h("dd", {}, meaning))),
      ),
    ),
  );
  openDialog("Keys", h("div", { class: "help" }, ...groups));
}

/** "n  p" as two keys, "Enter or a" with a word between. @param {string} keys */
const pressed = (keys) =>
  keys
    .split(" ")
    .filter(Boolean)
    .flatMap((key, place) => [place ? " " : "", key === "or" ? "or" : h("kbd", {}, key)]);
