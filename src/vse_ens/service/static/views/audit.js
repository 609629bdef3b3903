/** Audit: review probably missing, wrong or duplicate labels one by one. */

import { fill, h } from "../core/dom.js";
import { modelCard } from "../core/model.js";
import { shortcuts } from "../core/shortcuts.js";
import { pollUntilReady } from "../core/polling.js";
import { progress } from "../parts/progress.js";
import { Board } from "./audit_board.js";
import { findingCard } from "./audit_card.js";
import { Queue, queueKeys } from "./audit_queue.js";
import { verdictStore } from "./audit_verdicts.js";

const KINDS = {
  missing: { tab: "Missing", title: "Labels that may be missing" },
  wrong: { tab: "Wrong", title: "Labels that may be wrong" },
  duplicates: { tab: "Duplicates", title: "Labels that may mean the same" },
};
const PAGE = 50;

/**
 * @param {HTMLElement} host
 * @param {AbortSignal} signal
 * @returns {import("../app.js").View}
 */
export function mount(host, signal) {
  const tabs = h("nav", { class: "switch", "aria-label": "Kinds of findings" });
  const title = h("h1", { tabindex: -1 });
  const body = h("div", { class: "audit-body" });
  fill(host, h("div", { class: "audit-head" }, title, tabs), body);
  /** @type {Queue | null} */
  let queue = null;

  shortcuts(
    queueKeys(() => queue),
    signal,
  );

  return {
    async show(route, visit) {
      const kind = /** @type {keyof typeof KINDS} */ (route.kind ?? "missing");
      queue = null;
      title.textContent = KINDS[kind].title;
      fill(
        tabs,
        ...Object.entries(KINDS).map(([name, { tab }]) =>
          h("a", { href: `#/audit/${name}`, "aria-current": name === kind && "page" }, tab),
        ),
      );
      const working = progress("Checking every label of every image. This runs once per model.");
      const wait = setTimeout(() => fill(body, working.element), 150);
      const load = (/** @type {number} */ offset) =>
        pollUntilReady("audit", { kind, offset, limit: PAGE }, working.update, visit);
      let page;
      try {
        page = await load(0);
      } finally {
        clearTimeout(wait);
      }
      const { image_url: template, feedback } = await modelCard();
      const verdicts = await verdictStore(kind, feedback, visit);
      visit.throwIfAborted();
      queue = new Queue(verdicts, page, load);
      fill(body, ...new Board(kind, queue, findingCard(kind, template, visit)).elements);
      return `Audit: ${KINDS[kind].tab.toLowerCase()}`;
    },
  };
}
