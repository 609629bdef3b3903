/** Proposed implications and aliases: accept each as a rule, with the images on both sides. */

import { get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { countOf, percent } from "../core/format.js";
import { pollUntilReady } from "../core/polling.js";
import { searchAddress, withLabel } from "../core/route.js";
import { shortcuts } from "../core/shortcuts.js";
import { exampleRow } from "../parts/examples.js";
import { progress } from "../parts/progress.js";
import { orToast } from "../parts/toast.js";
import { Board } from "./audit_board.js";
import { pairCard } from "./audit_card.js";
import { asRules } from "./audit_verdicts.js";
import { Queue, queueKeys } from "./audit_queue.js";

/** @typedef {import("../core/api.js").Finding} Finding */

const PAGE = 100;
const EXAMPLES = 6;
const MOST_EXCEPTIONS = 60;

/**
 * @param {"implications" | "aliases"} kind
 * @param {HTMLElement} body
 * @param {import("../core/model.js").ModelCard} card
 * @param {AbortSignal} signal
 * @returns {(label: string, visit: AbortSignal) => Promise<void>}
 */
export function mountProposals(kind, body, card, signal) {
  /** @type {Queue | null} */
  let queue = null;
  shortcuts(
    queueKeys(() => queue),
    signal,
  );
  return async (_, visit) => {
    const working = progress("Looking for labels that go together. This runs once per model.");
    const wait = setTimeout(() => fill(body, working.element), 150);
    try {
      const load = async (/** @type {number} */ offset) => {
        const found = await pollUntilReady("rules/proposals", { offset, limit: PAGE }, working.update, visit);
        return kind === "implications"
          ? { findings: found.implications.map(asFinding), total: found.total_implications }
          : { findings: found.aliases, total: found.total_aliases };
      };
      const page = await load(0);
      const verdicts = await asRules(card.feedback, visit, kind === "implications" ? "implication" : "alias");
      visit.throwIfAborted();
      queue = new Queue(verdicts, page, load);
      const show = kind === "implications" ? implicationCard : pairCard;
      const once = (/** @type {string} */ path, /** @type {Record<string, string | number>} */ query) =>
        get(path, query, signal);
      const board = new Board(kind, queue, (finding) => show(finding, card.image_url, once));
      fill(body, h("div", { class: "audit-body" }, ...board.elements));
    } finally {
      clearTimeout(wait);
    }
  };
}

/** @param {Finding & {implies: string}} proposal @returns {Finding} */
const asFinding = (proposal) => ({ ...proposal, other: proposal.implies });

/**
 * @param {Finding} finding
 * @param {string | null} template
 * @param {(path: string, query: Record<string, string | number>) => Promise<any>} once
 */
function implicationCard(finding, template, once) {
  const { label, other = "", support = 0, confidence, exceptions = 0 } = finding;
  const both = h("div", { class: "pair-images" });
  const without = h("div", { class: "pair-images" });
  const load = (
    /** @type {HTMLElement} */ place,
    /** @type {Record<string, string | number>} */ query,
    /** @type {string} */ title,
    /** @type {string} */ none,
  ) =>
    once("label/images", { label, limit: EXAMPLES, ...query }).then(
      (found) =>
        fill(
          place,
          exampleRow({ title, images: found.images, total: found.total, template, marked: [label, other], none }),
        ),
      () => fill(place),
    );
  const showAll = (/** @type {Event} */ event) => {
    /** @type {HTMLElement} */ (event.currentTarget).remove();
    orToast(() => load(without, { without: other, limit: MOST_EXCEPTIONS }, `${label} without ${other}`, ""));
  };
  load(both, { also: other }, `${label} with ${other}`, "No images.");
  load(without, { without: other }, `${label} without ${other}`, "No exceptions.");
  return h(
    "article",
    { class: "finding" },
    h(
      "div",
      { class: "finding-body pair-body" },
      h("h2", {}, h("em", {}, label), " implies ", h("em", {}, other), "?"),
      h(
        "p",
        { class: "finding-why" },
        `${percent(confidence)} of ${countOf(support, "image")} with ${label} have ${other}, ${countOf(exceptions, "exception")}. `,
        h("a", { href: searchAddress([withLabel(label)], true) }, "Browse"),
      ),
      h(
        "div",
        { class: "pair" },
        h("section", { class: "pair-side", "aria-label": "Images with both" }, both),
        h(
          "section",
          { class: "pair-side", "aria-label": "Exceptions" },
          without,
          exceptions > EXAMPLES &&
            h("button", { type: "button", onclick: showAll }, `List the ${countOf(exceptions, "exception")}`),
        ),
      ),
    ),
  );
}
