/** Browse without search terms: the most frequent labels, and labels with likely mistakes. */

import { announce } from "../core/announcer.js";
import { get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { pollUntilReady } from "../core/polling.js";
import { searchAddress, withLabel, wrongAddress } from "../core/route.js";
import { count, countOf } from "../core/format.js";
import { progress } from "../parts/progress.js";
import { orToast } from "../parts/toast.js";

const SHOWN = 60;
/** Findings that are counted by label. */
const FINDINGS = 100;

/**
 * @param {import("../core/route.js").Term[]} terms
 * @param {HTMLElement} head
 * @param {HTMLElement} results
 * @param {HTMLElement} beside
 * @param {AbortSignal} signal
 */
export async function showFrequent(terms, head, results, beside, signal) {
  const { labels, total } = await get("vocabulary", { limit: SHOWN }, signal);
  fill(head, h("h1", { tabindex: -1 }, "Find images by label"));
  fill(beside);
  const pills = labels.map((/** @type {{label: string, images: number}} */ one) =>
    h(
      "li",
      {},
      h(
        "a",
        { class: "pill", href: searchAddress([...terms, withLabel(one.label)]) },
        one.label,
        h("span", {}, count(one.images)),
      ),
    ),
  );
  fill(
    results,
    h(
      "p",
      { class: "lead" },
      total > labels.length ? `The most frequent of ${countOf(total, "label")}:` : `All ${countOf(total, "label")}:`,
    ),
    h("ul", { class: "pills" }, ...pills),
    likelyMistakes(signal),
  );
}

/**
 * Labels that images likely have by mistake, on demand: the audit reads all pairs.
 * @param {AbortSignal} signal
 */
function likelyMistakes(signal) {
  const section = h("section", { class: "mistakes" });
  const find = async () => {
    const shown = progress("Looking for labels that images have by mistake …");
    fill(section, h("h2", {}, "Likely mistakes"), shown.element);
    const query = { kind: "wrong", limit: FINDINGS };
    const { findings } = await pollUntilReady("audit", query, shown.update, signal);
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (const { label } of findings) counts.set(label, (counts.get(label) ?? 0) + 1);
    const pills = [...counts]
      .sort((one, other) => other[1] - one[1])
      .map(([label, number]) =>
        h("li", {}, h("a", { class: "pill", href: wrongAddress(label) }, label, h("span", {}, count(number)))),
      );
    fill(
      section,
      h("h2", {}, "Likely mistakes"),
      pills.length
        ? h("p", { class: "lead" }, "Labels, and how many of the surest mistakes are about them:")
        : h("p", { class: "lead" }, "No label is likely to be a mistake."),
      h("ul", { class: "pills", "aria-label": "Labels with likely mistakes" }, ...pills),
    );
    announce(`${countOf(pills.length, "label")} with likely mistakes.`);
  };
  fill(
    section,
    h("h2", {}, "Likely mistakes"),
    h("button", { type: "button", onclick: () => orToast(find) }, "Find labels that images have by mistake"),
  );
  return section;
}
