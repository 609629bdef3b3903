/** Browse: the images behind labels, with some and without others, and the labels that are used alike. */

import { announce } from "../core/announcer.js";
import { ApiError, ask } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { walkThrough } from "../core/images.js";
import { modelCard } from "../core/model.js";
import { asQuery, having, searchAddress } from "../core/route.js";
import { many } from "../core/words.js";
import { imageCard } from "../parts/image_card.js";
import { termsBox } from "../parts/terms_box.js";
import { orToast } from "../parts/toast.js";
import { showAlike } from "./browse_alike.js";
import { showCommon } from "./browse_start.js";

/** @typedef {import("../core/route.js").Term} Term */

const PAGE = 24;
const MOST = 96;

/**
 * @param {HTMLElement} host
 * @returns {import("../app.js").View}
 */
export function mount(host) {
  const box = termsBox({
    label: "Labels: with, or after a minus without",
    placeholder: "A label, or -label for without",
    change: (terms) => {
      location.hash = searchAddress(terms, tagged);
      box.input.focus();
    },
  });
  let tagged = false;
  const head = h("div", { class: "browse-head" });
  const results = h("section", { class: "results", "aria-label": "Images found" });
  const beside = h("aside", { class: "beside", "aria-label": "Labels used alike" });
  fill(host, h("div", { class: "find" }, box.element), head, h("div", { class: "browse-columns" }, results, beside));

  return {
    async show(route, signal) {
      const terms = route.terms ?? [];
      tagged = route.tagged ?? false;
      box.show(terms);
      const asked = terms.filter((term) => !term.without);
      if (!asked.length) {
        await showCommon(terms, head, results, beside, signal);
        return "Browse";
      }
      fill(
        head,
        h("h1", { tabindex: -1 }, ...title(terms)),
        h("div", { class: "browse-actions" }, taggedSwitch(terms, tagged)),
      );
      orToast(() => showAlike(beside, asked[asked.length - 1].label, terms, tagged, signal));
      await showFound(results, terms, tagged, PAGE, signal);
      return asQuery(terms).join(", ");
    },
  };
}

/** "Images with beach, without people". @param {Term[]} terms */
function title(terms) {
  const named = (/** @type {Term[]} */ some) =>
    some.flatMap((term, place) => [place ? ", " : "", h("em", {}, term.label)]);
  const without = terms.filter((term) => term.without);
  return [
    "Images with ",
    ...named(terms.filter((term) => !term.without)),
    without.length ? ", without " : "",
    ...named(without),
  ];
}

/** Two links that look like a switch: the choice is in the address. @param {Term[]} terms @param {boolean} tagged */
function taggedSwitch(terms, tagged) {
  const side = (/** @type {boolean} */ value, /** @type {string} */ text) =>
    h("a", { href: searchAddress(terms, value), "aria-current": tagged === value && "true" }, text);
  return h(
    "div",
    { class: "switch", role: "group", "aria-label": "Which images" },
    side(false, "Not tagged yet"),
    side(true, "Tagged too"),
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
      ask("search", { labels: asQuery(terms), top, tagged }, signal),
      modelCard(),
    ]);
    signal.throwIfAborted();
    /** @type {import("../core/api.js").FoundImage[]} */
    const found = images;
    const marked = terms.filter((term) => !term.without).map((term) => term.label);
    const onOpen = () => walkThrough(found.map((one) => one.image));
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
        : h("p", { class: "none" }, tagged ? "No image fits." : "No image lacks these labels; see “Tagged too”."),
      more &&
        h(
          "p",
          { class: "more-row" },
          h("button", { type: "button", onclick: () => showFound(results, terms, tagged, MOST, signal) }, "Show more"),
        ),
    );
    announce(`${many(found.length, "image")}.`);
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
    h("li", {}, h("a", { class: "pill", href: searchAddress([having(label)], tagged) }, label)),
  );
  return h(
    "div",
    { class: "none" },
    h("p", {}, error.message),
    instead.length > 0 && h("ul", { class: "pills", "aria-label": "Perhaps you meant" }, ...instead),
  );
}
