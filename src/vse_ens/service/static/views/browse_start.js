/** Browse without search terms: the most frequent labels. */

import { get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { searchAddress, withLabel } from "../core/route.js";
import { count, countOf } from "../core/format.js";

const SHOWN = 60;

/**
 * @param {import("../core/route.js").Term[]} terms
 * @param {HTMLElement} head
 * @param {HTMLElement} results
 * @param {HTMLElement} beside
 * @param {AbortSignal} signal
 */
export async function showFrequent(terms, head, results, beside, signal) {
  const { labels, total } = await get("labels", { prefix: "", limit: SHOWN }, signal);
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
  );
}
