/** All labels with their counts: search, rename, merge. */

import { announce } from "../core/announcer.js";
import { ApiError, get, postChange } from "../core/api.js";
import { fill, h, uniqueId } from "../core/dom.js";
import { count, countOf } from "../core/format.js";
import { searchAddress, vocabularyAddress, withLabel } from "../core/route.js";
import { combobox } from "../parts/combobox.js";
import { labels as labelCompleter } from "../parts/completers.js";
import { askLine, openDialog } from "../parts/dialog.js";
import { exampleRow } from "../parts/examples.js";
import { orToast } from "../parts/toast.js";

/** @typedef {{label: string, images: number, namespace: string | null}} Entry */

const PAGE = 100;
const PAUSE = 120;
const EXAMPLES = 9;

/**
 * @param {HTMLElement} body
 * @param {import("../core/model.js").ModelCard} card
 * @returns {(label: string, visit: AbortSignal) => Promise<void>}
 */
export function mountLabels(body, card) {
  let sort = "count";
  /** @type {Entry[]} */
  let entries = [];
  let total = 0;
  let request = new AbortController();
  let timer = 0;

  const box = /** @type {HTMLInputElement} */ (
    h("input", {
      type: "search",
      class: "field",
      id: uniqueId("filter"),
      "aria-label": "Filter labels",
      placeholder: "Filter labels",
      autocomplete: "off",
      spellcheck: "false",
      maxlength: 1000,
      "data-main": true,
    })
  );
  const order = h(
    "select",
    { class: "field", "aria-label": "Order" },
    h("option", { value: "count" }, "Most images first"),
    h("option", { value: "name" }, "By name"),
  );
  const tally = h("p", { class: "tally", role: "status" });
  const list = h("ul", { class: "label-rows", "aria-label": "Labels" });
  const more = h("button", { type: "button", onclick: () => orToast(() => load(entries.length)) }, "Show more");
  more.hidden = true;
  const detail = h("aside", { class: "label-detail", "aria-label": "The chosen label", hidden: true });
  fill(
    body,
    h(
      "div",
      { class: "vocabulary-columns" },
      h(
        "section",
        { class: "label-list", "aria-label": "All labels" },
        h("div", { class: "label-filter" }, box, order),
        tally,
        list,
        h("p", { class: "more-row" }, more),
      ),
      detail,
    ),
  );

  const load = async (/** @type {number} */ offset) => {
    request.abort();
    request = new AbortController();
    const found = await get("vocabulary", { query: box.value.trim(), sort, offset, limit: PAGE }, request.signal);
    entries = offset ? [...entries, ...found.labels] : found.labels;
    total = found.total;
    const most = Math.max(1, ...entries.map((entry) => entry.images));
    const rows = entries.slice(offset).map((entry) => labelRow(entry, most));
    if (offset) list.append(...rows);
    else fill(list, ...rows);
    fill(tally, h("strong", {}, count(total)), total === 1 ? " label" : " labels");
    more.hidden = entries.length >= total;
    markChosen();
  };
  const reload = () => orToast(() => load(0));
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(reload, PAUSE);
  });
  order.addEventListener("change", () => {
    sort = /** @type {HTMLSelectElement} */ (order).value;
    reload();
  });

  let chosen = "";
  const markChosen = () => {
    for (const link of list.querySelectorAll("a"))
      if (link.dataset.label === chosen) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
  };

  return async (label, visit) => {
    chosen = label;
    if (!entries.length) await load(0);
    markChosen();
    detail.hidden = !label;
    if (!label) return;
    await showDetail(detail, label, card, visit, async () => {
      await load(0);
    });
    if (matchMedia("(max-width: 60rem)").matches) detail.scrollIntoView({ block: "start" });
  };
}

/** @param {Entry} entry @param {number} most number of images of the most frequent label */
function labelRow({ label, images, namespace }, most) {
  const bar = h("span", { class: "meter", "aria-hidden": "true" });
  bar.style.setProperty("--share", String(images / most));
  return h(
    "li",
    {},
    h(
      "a",
      { class: "label-row", href: vocabularyAddress(label), "data-label": label },
      h("span", { class: "label-name" }, label),
      namespace && h("span", { class: "label-space" }, namespace),
      h("span", { class: "label-count" }, count(images)),
      bar,
    ),
  );
}

/**
 * @param {HTMLElement} detail
 * @param {string} label
 * @param {import("../core/model.js").ModelCard} card
 * @param {AbortSignal} visit
 * @param {() => Promise<void>} changed
 */
async function showDetail(detail, label, card, visit, changed) {
  // A name that a rule gave is not in the data.
  const found = await get("label/images", { label, limit: EXAMPLES }, visit).catch((error) => {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    return { images: [], total: 0 };
  });
  const act = (/** @type {"alias" | "rename"} */ kind, /** @type {string} */ other) =>
    orToast(async () => {
      const answer = await postChange("rules", { kind, label, other });
      const done = kind === "rename" ? `Renamed ${label} to ${other}` : `Merged ${label} into ${other}`;
      const sentence = `${done}: ${countOf(answer.changed, "image")}.`;
      announce(sentence);
      fill(note, sentence, " ", h("a", { href: "#/vocabulary/rules" }, "Undo it under Rules"));
      await changed();
    });
  const rename = async () => {
    const other = await askLine({
      title: `Rename ${label}`,
      text: "The new name is a rule: it applies to the downloaded data set, and can be undone.",
      label: "New name",
      button: "Rename",
      value: label,
    });
    if (other && other !== label) await act("rename", other);
  };
  const note = h("p", { class: "aside", role: "status" });
  fill(
    detail,
    h("h2", { tabindex: -1 }, label),
    h(
      "p",
      { class: "label-links" },
      h("a", { href: searchAddress([withLabel(label)], true) }, countOf(found.total, "image")),
    ),
    card.feedback &&
      h(
        "div",
        { class: "label-actions" },
        h("button", { type: "button", onclick: rename }, "Rename …"),
        h("button", { type: "button", onclick: () => askMerge(label, (other) => act("alias", other)) }, "Merge into …"),
      ),
    note,
    exampleRow({
      title: "Images",
      images: found.images,
      template: card.image_url,
      marked: [label],
      none: "No image of the data has this label; a rule gives it.",
    }),
  );
}

/** Ask which label to merge into. @param {string} label @param {(other: string) => void} merge */
function askMerge(label, merge) {
  const box = combobox({
    label: "Label to merge into",
    placeholder: "Label to merge into",
    complete: labelCompleter(
      (other) => {
        dialog.close();
        merge(other);
      },
      { exclude: () => [label], labels: () => [label], isNew: true },
    ),
  });
  const dialog = openDialog(
    `Merge ${label} into`,
    h("p", {}, `Every image with ${label} gets the chosen label instead. It is a rule, and can be undone.`),
    h("div", { class: "line merge-line" }, box.element),
  );
  box.input.focus();
}
