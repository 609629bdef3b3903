/** Browse: the images behind labels, with some and without others, and the labels that are used alike. */

import { announce } from "../core/announcer.js";
import { ApiError, ask, get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { walkThrough } from "../core/images.js";
import { modelCard } from "../core/model.js";
import { asQuery, having, labelsAddress, mapAddress, searchAddress } from "../core/route.js";
import { count, many } from "../core/words.js";
import { icon } from "../parts/icon.js";
import { imageCard } from "../parts/image_card.js";
import { message } from "../parts/message.js";
import { termsBox } from "../parts/terms_box.js";
import { isStopped } from "../parts/toast.js";

/** @typedef {import("../core/route.js").Term} Term */

const PAGE = 24;
const MOST = 96;
const COMMON = 60;
const ALIKE = 10;

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
      fill(head, h("h1", { tabindex: -1 }, ...title(terms)), h("div", { class: "browse-actions" }, taggedSwitch(terms, tagged)));
      showAlike(beside, asked[asked.length - 1].label, terms, tagged, signal);
      await showFound(results, terms, tagged, PAGE, signal);
      return asQuery(terms).join(", ");
    },
  };
}

/** "Images with beach, without people". @param {Term[]} terms */
function title(terms) {
  const named = (/** @type {Term[]} */ some) => some.flatMap((term, place) => [place ? ", " : "", h("em", {}, term.label)]);
  const without = terms.filter((term) => term.without);
  return ["Images with ", ...named(terms.filter((term) => !term.without)), without.length ? ", without " : "", ...named(without)];
}

/** Two links that look like a switch: the choice is in the address. @param {Term[]} terms @param {boolean} tagged */
function taggedSwitch(terms, tagged) {
  const side = (/** @type {boolean} */ value, /** @type {string} */ text) =>
    h("a", { href: searchAddress(terms, value), "aria-current": tagged === value && "true" }, text);
  return h("div", { class: "switch", role: "group", "aria-label": "Which images" }, side(false, "Not tagged yet"), side(true, "Tagged too"));
}

/** @param {HTMLElement} results @param {Term[]} terms @param {boolean} tagged @param {number} top @param {AbortSignal} signal */
async function showFound(results, terms, tagged, top, signal) {
  results.setAttribute("aria-busy", "true");
  try {
    const [{ images }, { image_url: template }] = await Promise.all([ask("search", { labels: asQuery(terms), top, tagged }, signal), modelCard()]);
    signal.throwIfAborted();
    /** @type {import("../core/api.js").FoundImage[]} */
    const found = images;
    const marked = terms.filter((term) => !term.without).map((term) => term.label);
    const onOpen = () => walkThrough(found.map((one) => one.image));
    const more = found.length === top && top < MOST;
    fill(
      results,
      found.length
        ? h("ul", { class: "cards" }, ...found.map((one) => imageCard({ image: one.image, labels: one.labels, share: one.confidence }, template, marked, onOpen)))
        : h("p", { class: "none" }, tagged ? "No image fits." : "No image lacks these labels; those that carry them are under “Tagged too”."),
      more && h("p", { class: "more-row" }, h("button", { type: "button", onclick: () => showFound(results, terms, tagged, MOST, signal) }, "Show more")),
    );
    announce(`${many(found.length, "image")}.`);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    fill(results, unknownLabel(error, terms, tagged));
  } finally {
    results.removeAttribute("aria-busy");
  }
}

/** @param {ApiError} error @param {Term[]} terms @param {boolean} tagged */
function unknownLabel(error, terms, tagged) {
  const instead = error.nearest.map((label) => h("li", {}, h("a", { class: "pill", href: searchAddress([having(label)], tagged) }, label)));
  return h("div", { class: "none" }, h("p", {}, error.message), instead.length > 0 && h("ul", { class: "pills", "aria-label": "Perhaps you meant" }, ...instead));
}

/** @param {HTMLElement} beside @param {string} label @param {Term[]} terms @param {boolean} tagged @param {AbortSignal} signal */
async function showAlike(beside, label, terms, tagged, signal) {
  try {
    const { similar } = await get("similar/labels", { label, top: ALIKE }, signal);
    const rows = similar
      .filter((/** @type {{label: string}} */ one) => !terms.some((term) => term.label === one.label))
      .map((/** @type {{label: string, similarity: number}} */ one) => {
        const meter = h("span", { class: "meter", "aria-hidden": "true" });
        meter.style.setProperty("--share", String(Math.max(0, one.similarity)));
        return h(
          "li",
          {},
          h("a", { href: searchAddress([having(one.label)], tagged) }, one.label),
          h("a", { class: "icon-link", href: searchAddress([...terms, having(one.label)], tagged), "aria-label": `Add ${one.label} to the search`, title: "Add to the search" }, icon("plus")),
          meter,
        );
      });
    fill(
      beside,
      h("h2", {}, "Used like ", h("em", {}, label)),
      h("ul", { class: "alike" }, ...rows),
      h("p", { class: "aside" }, h("a", { href: mapAddress(label) }, "Show it on the map")),
      h("p", { class: "aside" }, h("a", { href: labelsAddress(terms) }, "What else would such an image have?")),
    );
  } catch (error) {
    // The images beside it say what is wrong with the label.
    if (!isStopped(error)) fill(beside);
  }
}

/** Nothing asked yet: the common labels to begin with. @param {Term[]} terms @param {HTMLElement} head @param {HTMLElement} results @param {HTMLElement} beside @param {AbortSignal} signal */
async function showCommon(terms, head, results, beside, signal) {
  const { labels, total } = await get("labels", { prefix: "", limit: COMMON }, signal);
  fill(head, h("h1", { tabindex: -1 }, "Which images are behind a label?"));
  fill(beside);
  if (!labels.length) {
    fill(results, message("No labels", "This model knows none."));
    return;
  }
  const pills = labels.map((/** @type {{label: string, images: number}} */ one) =>
    h("li", {}, h("a", { class: "pill", href: searchAddress([...terms, having(one.label)]) }, one.label, h("span", {}, count(one.images)))),
  );
  fill(
    results,
    h("p", { class: "lead" }, total > labels.length ? `The most common of ${many(total, "label")}:` : `All ${many(total, "label")}:`),
    h("ul", { class: "pills" }, ...pills),
  );
}
