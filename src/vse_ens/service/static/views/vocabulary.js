/** Labels: the vocabulary, proposed rules, and the rules in force. */

import { get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { modelCard } from "../core/model.js";
import { download } from "../parts/download.js";
import { icon } from "../parts/icon.js";
import { orToast } from "../parts/toast.js";
import { mountLabels } from "./vocabulary_labels.js";
import { mountProposals } from "./vocabulary_proposals.js";
import { showRules } from "./vocabulary_rules.js";

const TABS = {
  labels: { tab: "All labels", title: "Labels" },
  implications: { tab: "Implications", title: "Labels that imply another" },
  aliases: { tab: "Aliases", title: "Labels with the same meaning" },
  rules: { tab: "Rules", title: "Rules in force" },
};

/** Formats of collections, in words. */
const FORMATS = {
  coco: "COCO",
  cvat: "CVAT",
  voc: "Pascal VOC",
  imagefolder: "an imagefolder",
  photos: "photos and sidecars",
  "label-studio": "Label Studio",
  "txt-tags": ".txt tags",
};

/**
 * @param {HTMLElement} host
 * @param {AbortSignal} signal
 * @returns {import("../app.js").View}
 */
export function mount(host, signal) {
  const tabs = h("nav", { class: "switch", "aria-label": "Parts of the vocabulary" });
  const title = h("h1", { tabindex: -1 });
  const body = h("div", { class: "vocabulary-body" });
  const save = (/** @type {"csv" | "source"} */ format, /** @type {string} */ name) => (/** @type {Event} */ event) =>
    saveData(/** @type {HTMLElement} */ (event.currentTarget), format, name);
  const source = h("span", { class: "vocabulary-source" });
  // Shown with what is above it, so that it does not move.
  const exported = h(
    "p",
    { class: "vocabulary-export", hidden: true },
    h("button", { type: "button", onclick: save("csv", "clean.csv") }, icon("download"), "Download the cleaned data set"),
    source,
  );
  fill(
    host,
    h("div", { class: "audit-head" }, title, tabs),
    body,
    exported,
  );
  orToast(async () => {
    const { source_format: format, source_problem: problem } = await modelCard();
    fill(
      source,
      format
        ? h(
            "button",
            { type: "button", class: "quiet", onclick: save("source", "clean.zip") },
            `The changed files, as ${FORMATS[/** @type {keyof typeof FORMATS} */ (format)] ?? format}`,
          )
        : `As CSV.${problem ? ` Not in the format of its source: ${problem}.` : ""}`,
    );
  });
  /** The current tab, mounted again only if another one was shown. */
  let mounted = {
    name: "",
    show: async (/** @type {string} */ _label, /** @type {AbortSignal} */ _visit) => {},
    life: new AbortController(),
  };
  signal.addEventListener("abort", () => mounted.life.abort());

  return {
    async show(route, visit) {
      const kind = /** @type {keyof typeof TABS} */ (route.kind ?? "labels");
      title.textContent = TABS[kind].title;
      fill(
        tabs,
        ...Object.entries(TABS).map(([name, { tab }]) =>
          h("a", { href: `#/vocabulary/${name}`, "aria-current": name === kind && "page" }, tab),
        ),
      );
      if (mounted.name !== kind) {
        mounted.life.abort();
        const life = new AbortController();
        fill(body);
        exported.hidden = true;
        const card = await modelCard();
        visit.throwIfAborted();
        mounted = { name: kind, show: tabOf(kind, body, card, life.signal), life };
      }
      await mounted.show(route.label ?? "", visit);
      exported.hidden = false;
      return route.label || TABS[kind].title;
    },
  };
}

/**
 * @param {keyof typeof TABS} kind
 * @param {HTMLElement} body
 * @param {import("../core/model.js").ModelCard} card
 * @param {AbortSignal} signal ends the tab
 * @returns {(label: string, visit: AbortSignal) => Promise<void>}
 */
function tabOf(kind, body, card, signal) {
  if (kind === "labels") return mountLabels(body, card);
  if (kind === "rules") return (_, visit) => showRules(body, card.feedback, visit);
  return mountProposals(kind, body, card, signal);
}

/** @param {HTMLElement} button @param {string} format @param {string} name of the file */
async function saveData(button, format, name) {
  button.setAttribute("aria-busy", "true");
  await orToast(async () => download(name, await get("export", { format })));
  button.removeAttribute("aria-busy");
}
