/** Browse, with nothing asked yet: the common labels to begin with. */

import { get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { having, searchAddress } from "../core/route.js";
import { count, many } from "../core/words.js";

const COMMON = 60;

/**
 * @param {import("../core/route.js").Term[]} terms
 * @param {HTMLElement} head
 * @param {HTMLElement} results
 * @param {HTMLElement} beside
 * @param {AbortSignal} signal
 */
export async function showCommon(terms, head, results, beside, signal) {
  const { labels, total } = await get("labels", { prefix: "", limit: COMMON }, signal);
  fill(head, h("h1", { tabindex: -1 }, "Which images are behind a label?"));
  fill(beside);
  const pills = labels.map((/** @type {{label: string, images: number}} */ one) =>
    h(
      "li",
      {},
      h(
        "a",
        { class: "pill", href: searchAddress([...terms, having(one.label)]) },
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
      total > labels.length ? `The most common of ${many(total, "label")}:` : `All ${many(total, "label")}:`,
    ),
    h("ul", { class: "pills" }, ...pills),
  );
}
