/** Browse: images for included and excluded labels, and similar labels. */

import { announce } from "../core/announcer.js";
import { ApiError, postQuery } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { setImageList } from "../core/images.js";
import { modelCard } from "../core/model.js";
import { searchAddress, toQuery, withLabel } from "../core/route.js";
import { countOf } from "../core/format.js";
import { imageCard } from "../parts/image_card.js";
import { termsBox } from "../parts/terms_box.js";
import { orToast } from "../parts/toast.js";
import { showSimilar } from "./browse_similar.js";
import { showFrequent } from "./browse_start.js";

/** @typedef {import("../core/route.js").Term} Term */

const PAGE = 24;
const MOST = 96;

/**
 * @param {HTMLElement} host
 * @returns {import("../app.js").View}
 */
export function mount(host) {
  const box = termsBox({
    label: "Labels to search for; a leading minus excludes a label",
    placeholder: "Label, or -label to exclude",
    change: (terms) => {
      location.hash = searchAddress(terms, tagged);
      box.input.focus();
    },
  });
  let tagged = false;
  const head = h("div", { class: "browse-head" });
  const results = h("section", { class: "results", "aria-label": "Search results" });
  const beside = h("aside", { class: "beside", "aria-label": "Similar labels" });
  fill(host, h("div", { class: "find" }, box.element, h("a", { class: "button", href: "#/questions" }, "Twenty questions")), head, h("div", { class: "browse-columns" }, results, beside));

  return {
    async show(route, signal) {
      const terms = route.terms ?? [];
      tagged = route.tagged ?? false;
      box.show(terms);
      const asked = terms.filter((term) => !term.without);
      if (!asked.length) {
        await showFrequent(terms, head, results, beside, signal);
        return "Browse";
      }
      fill(
        head,
        h("h1", { tabindex: -1 }, ...title(terms)),
        h("div", { class: "browse-actions" }, taggedSwitch(terms, tagged)),
      );
      orToast(() => showSimilar(beside, asked[asked.length - 1].label, terms, tagged, signal));
      await showFound(results, terms, tagged, PAGE, signal);
      return toQuery(terms).join(", ");
    },
  };
}

/** "Images with beach, without people". @param {Term[]} terms */
function title(terms) {
  const named = (/** @type {Term[]} */ some) =>
    some.flatMap((term, index) => [index ? ", " : "", h("em", {}, term.label)]);
  const without = terms.filter((term) => term.without);
  return [
    "Images with ",
    ...named(terms.filter((term) => !term.without)),
    without.length ? ", without " : "",
    ...named(without),
  ];
}

/** Two links styled as a switch: the choice is in the URL. @param {Term[]} terms @param {boolean} tagged */
function taggedSwitch(terms, tagged) {
  const side = (/** @type {boolean} */ value, /** @type {string} */ text) =>
    h("a", { href: searchAddress(terms, value), "aria-current": tagged === value && "true" }, text);
  return h(
    "div",
    { class: "switch", role: "group", "aria-label": "Which images" },
    side(false, "Not tagged yet"),
    side(true, "Include tagged"),
  );
}

/**
 * @param {HTMLElement} results
 * @param {Term[]} terms
 * @param {boolean} tagged
 * @param {number} top
 * @param {AbortSignal} signal
 */
async function showFound(results, terms, tagged, top, signal) {
  results.setAttribute("aria-busy", "true");
  try {
    const [{ images }, { image_url: template }] = await Promise.all([
      postQuery("search", { labels: toQuery(terms), top, tagged }, signal),
      modelCard(),
    ]);
    signal.throwIfAborted();
    /** @type {import("../core/api.js").FoundImage[]} */
    const found = images;
    const marked = terms.filter((term) => !term.without).map((term) => term.label);
    const onOpen = () => setImageList(found.map((one) => one.image));
    const more = found.length === top && top < MOST;
    fill(
      results,
      found.length
        ? h(
            "ul",
            { class: "cards" },
            ...found.map((one) =>
              imageCard({ image: one.image, labels: one.labels, share: one.confidence }, template, marked, onOpen),
            ),
          )
        : h(
            "p",
            { class: "none" },
            tagged ? "No matching images." : "All matching images are tagged; see “Include tagged”.",
          ),
      more &&
        h(
          "p",
          { class: "more-row" },
          h("button", { type: "button", onclick: () => showFound(results, terms, tagged, MOST, signal) }, "Show more"),
        ),
    );
    announce(`${countOf(found.length, "image")}.`);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    fill(results, unknownLabel(error, tagged));
  } finally {
    results.removeAttribute("aria-busy");
  }
}

/** @param {ApiError} error @param {boolean} tagged */
function unknownLabel(error, tagged) {
  const instead = error.nearest.map((label) =>
    h("li", {}, h("a", { class: "pill", href: searchAddress([withLabel(label)], tagged) }, label)),
  );
  return h(
    "div",
    { class: "none" },
    h("p", {}, error.message),
    instead.length > 0 && h("ul", { class: "pills", "aria-label": "Did you mean" }, ...instead),
  );
}
