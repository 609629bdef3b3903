/** Labels instead of an image: what else would such an image have? The labels are in the address; nothing is kept. */

import { announce } from "../core/announcer.js";
import { ApiError, ask } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { having, labelsAddress, searchAddress } from "../core/route.js";
import { combobox } from "../parts/combobox.js";
import { labels as labelCompleter } from "../parts/completers.js";
import { labelChip } from "../parts/label_chip.js";

/** @typedef {import("../core/route.js").Term} Term */

const TOP = 12;

/**
 * @param {import("./desk.js").Desk} desk
 * @param {Term[]} terms
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
export async function showLabels(desk, terms, signal) {
  const held = terms.filter((term) => !term.without);
  const denied = terms.filter((term) => term.without);
  const go = (/** @type {Term[]} */ changed) => (location.hash = labelsAddress(changed));
  const drop = (/** @type {Term} */ term) => go(terms.filter((other) => other !== term));
  desk.terms = () => terms;
  desk.judge = {
    accept: ({ label }) => go([...terms, having(label)]),
    reject: ({ label }) => go([...terms, { label, without: true }]),
    undo: () => (terms.length ? go(terms.slice(0, -1)) : announce("Nothing to undo.")),
  };
  const adder = combobox({
    label: "Add a label",
    placeholder: held.length ? "Add another label" : "Type a label",
    plain: true,
    complete: labelCompleter((label) => go([...terms, having(label)]), {
      leftOut: () => terms.map((term) => term.label),
    }),
  });
  const wasTyping = desk.subject.contains(document.activeElement);
  fill(
    desk.subject,
    h(
      "div",
      { class: "subject-body" },
      h("p", { class: "kicker" }, "No image, only labels"),
      h("h1", { tabindex: -1 }, held.length ? "An image with" : "Which labels does it have?"),
      h(
        "ul",
        { class: "label-chips", "aria-label": "Labels given" },
        ...held.map((term) =>
          labelChip({
            label: term.label,
            kind: "new",
            drawing: "undo",
            action: `Take ${term.label} off`,
            act: () => drop(term),
          }),
        ),
      ),
      adder.element,
      held.length > 0 &&
        h("p", { class: "aside" }, h("a", { href: searchAddress(held, true) }, "Images with these labels")),
    ),
  );
  if (wasTyping) adder.input.focus();
  fill(desk.below);
  fill(desk.hint);
  fill(
    desk.rejected,
    h("h2", {}, "Rejected"),
    h(
      "ul",
      { class: "label-chips" },
      ...denied.map((term) =>
        labelChip({
          label: term.label,
          kind: "rejected",
          drawing: "undo",
          action: `Undo: reject ${term.label}`,
          act: () => drop(term),
        }),
      ),
    ),
  );
  desk.rejected.hidden = !denied.length;
  desk.list.wait();
  const suggestions = await suggest(held, denied, signal).catch((error) => {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    fill(desk.none, error.message);
    return null;
  });
  desk.list.show(suggestions ?? []);
  desk.none.hidden = Boolean(suggestions?.length);
  if (suggestions) desk.none.textContent = "Nothing is left to suggest.";
  if (suggestions?.length) announce(`First suggestion now: ${suggestions[0].label}`);
  return held.map((term) => term.label).join(", ") || "Labels";
}

/**
 * @param {Term[]} held
 * @param {Term[]} denied
 * @param {AbortSignal} signal
 * @returns {Promise<import("../core/api.js").Suggestion[]>}
 */
async function suggest(held, denied, signal) {
  const question = {
    labels: [held.map((term) => term.label)],
    deny: denied.map((term) => term.label),
    top: TOP,
    explain: true,
  };
  const { results } = await ask("annotate", question, signal);
  return results[0].suggestions;
}
