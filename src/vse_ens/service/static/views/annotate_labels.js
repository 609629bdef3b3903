/** Suggestions from labels without an image. The labels are in the URL; nothing is stored. */

import { announce } from "../core/announcer.js";
import { ApiError, postQuery } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { labelsAddress, searchAddress, withLabel } from "../core/route.js";
import { combobox } from "../parts/combobox.js";
import { labels as labelCompleter } from "../parts/completers.js";
import { labelChip } from "../parts/label_chip.js";

/** @typedef {import("../core/route.js").Term} Term */

const TOP = 12;

/**
 * @param {import("./workspace.js").Workspace} workspace
 * @param {Term[]} terms
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
export async function showLabels(workspace, terms, signal) {
  const held = terms.filter((term) => !term.without);
  const denied = terms.filter((term) => term.without);
  const go = (/** @type {Term[]} */ changed) => (location.hash = labelsAddress(changed));
  const drop = (/** @type {Term} */ term) => go(terms.filter((other) => other !== term));
  workspace.terms = () => terms;
  workspace.handlers = {
    accept: ({ label }) => go([...terms, withLabel(label)]),
    reject: ({ label }) => go([...terms, { label, without: true }]),
    undo: () => (terms.length ? go(terms.slice(0, -1)) : announce("Nothing to undo.")),
  };
  const adder = combobox({
    label: "Add a label",
    placeholder: held.length ? "Add another label" : "Type a label",
    plain: true,
    complete: labelCompleter((label) => go([...terms, withLabel(label)]), {
      exclude: () => terms.map((term) => term.label),
      labels: () => held.map((term) => term.label),
    }),
  });
  const wasTyping = workspace.subject.contains(document.activeElement);
  fill(
    workspace.subject,
    h(
      "div",
      { class: "subject-body" },
      h("p", { class: "kicker" }, "Labels without an image"),
      h("h1", { tabindex: -1 }, held.length ? "An image with" : "Which labels does the image have?"),
      h(
        "ul",
        { class: "label-chips", "aria-label": "Given labels" },
        ...held.map((term) =>
          labelChip({
            label: term.label,
            kind: "new",
            drawing: "undo",
            action: `Remove ${term.label}`,
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
  fill(workspace.below);
  fill(workspace.hint);
  fill(
    workspace.rejected,
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
  workspace.rejected.hidden = !denied.length;
  workspace.list.wait();
  const suggestions = await suggest(held, denied, signal).catch((error) => {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    fill(workspace.none, error.message);
    return null;
  });
  workspace.list.show(suggestions ?? []);
  workspace.none.hidden = Boolean(suggestions?.length);
  if (suggestions) workspace.none.textContent = "No more suggestions.";
  if (suggestions?.length) announce(`Top suggestion: ${suggestions[0].label}`);
  return held.map((term) => term.label).join(", ") || "Labels";
}

/**
 * @param {Term[]} held
 * @param {Term[]} denied
 * @param {AbortSignal} signal
 * @returns {Promise<import("../core/api.js").Suggestion[]>}
 */
async function suggest(held, denied, signal) {
  const body = {
    labels: [held.map((term) => term.label)],
    deny: denied.map((term) => term.label),
    top: TOP,
    explain: true,
  };
  const { results } = await postQuery("annotate", body, signal);
  return results[0].suggestions;
}
