/** Browse: images for included and excluded labels, decided on together; and similar labels. */

import { announce } from "../core/announcer.js";
import { ApiError, postQuery } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { setImageList } from "../core/images.js";
import { modelCard } from "../core/model.js";
import { searchAddress, toQuery, withLabel, wrongAddress } from "../core/route.js";
import { countOf } from "../core/format.js";
import { imageCard } from "../parts/image_card.js";
import { termsBox } from "../parts/terms_box.js";
import { orToast } from "../parts/toast.js";
import { showChoices } from "./browse_choices.js";
import { showLabelGrid } from "./browse_label.js";
import { showSimilar } from "./browse_similar.js";
import { showFrequent } from "./browse_start.js";

/** @typedef {import("../core/route.js").Term} Term */

const PAGE = 24;
const MOST = 96;
/** The most images of a search. */
const MOST_FOUND = 100;

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
  const controls = h("div", { class: "browse-controls" });
  const results = h("section", { class: "results", "aria-label": "Search results" });
  const beside = h("aside", { class: "beside", "aria-label": "Similar labels" });
  fill(
    host,
    h("div", { class: "find" }, box.element),
    head,
    controls,
    h("div", { class: "browse-columns" }, results, beside),
  );

  return {
    async show(route, signal) {
      const terms = route.terms ?? [];
      tagged = route.tagged ?? false;
      box.show(terms);
      fill(controls);
      const asked = terms.filter((term) => !term.without);
      if (!asked.length) {
        await showFrequent(terms, head, results, beside, signal);
        return "Browse";
      }
      // One label and nothing else: the images are ranked by this label alone.
      const only = terms.length === 1 ? terms[0].label : null;
      const kind = route.kind === "wrong" && only !== null ? "wrong" : "missing";
      fill(
        head,
        h("h1", { tabindex: -1 }, ...title(terms, only !== null && !tagged ? kind : null)),
        h("div", { class: "browse-actions" }, kindSwitch(terms, tagged, kind)),
      );
      results.setAttribute("aria-busy", "true");
      try {
        const { feedback } = await modelCard();
        // After the card, with which the slider appears above it.
        orToast(() => showSimilar(beside, asked[asked.length - 1].label, terms, tagged, signal));
        if (only !== null && !tagged && feedback) await showLabelGrid(controls, results, only, kind, signal);
        else if (feedback) await showFoundChoices(results, terms, tagged, signal);
        else await showFound(results, terms, tagged, PAGE, signal);
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
        fill(results, unknownLabel(error, tagged));
      } finally {
        if (!signal.aborted) results.removeAttribute("aria-busy");
      }
      return toQuery(terms).join(", ");
    },
  };
}

/** "Images with beach, without people". @param {Term[]} terms @param {"missing" | "wrong" | null} kind of one label */
function title(terms, kind) {
  if (kind === "missing") return ["Images that may lack ", h("em", {}, terms[0].label)];
  if (kind === "wrong") return ["Images that may have ", h("em", {}, terms[0].label), " by mistake"];
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

/**
 * Links styled as a switch: the choice is in the URL.
 * @param {Term[]} terms @param {boolean} tagged @param {"missing" | "wrong"} kind
 */
function kindSwitch(terms, tagged, kind) {
  const side = (/** @type {string} */ href, /** @type {boolean} */ current, /** @type {string} */ text) =>
    h("a", { href, "aria-current": current && "true" }, text);
  const isOne = terms.length === 1;
  return h(
    "div",
    { class: "switch", role: "group", "aria-label": "Which images" },
    side(searchAddress(terms), !tagged && kind === "missing", isOne ? "Likely missing" : "Not tagged yet"),
    isOne && side(wrongAddress(terms[0].label), !tagged && kind === "wrong", "Likely wrong"),
    side(searchAddress(terms, true), tagged, "Include tagged"),
  );
}

/**
 * Search results to decide on together.
 * @param {HTMLElement} results @param {Term[]} terms @param {boolean} tagged @param {AbortSignal} signal
 */
async function showFoundChoices(results, terms, tagged, signal) {
  const labels = terms.filter((term) => !term.without).map((term) => term.label);
  await showChoices(results, {
    name: "Found images",
    labels,
    verbs: { accept: "Add", reject: tagged ? "Remove" : "Not there" },
    load: async (offset, limit) => {
      const top = Math.min(offset + limit, MOST_FOUND);
      const { images } = await postQuery("search", { labels: toQuery(terms), top, tagged }, signal);
      return { images: images.slice(offset), total: images.length < top ? images.length : MOST_FOUND };
    },
    none: () => noneFound(tagged),
    signal,
  });
}

/**
 * @param {HTMLElement} results
 * @param {Term[]} terms
 * @param {boolean} tagged
 * @param {number} top
 * @param {AbortSignal} signal
 */
async function showFound(results, terms, tagged, top, signal) {
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
            imageCard({ ...one, share: one.confidence }, template, marked, onOpen),
          ),
        )
      : h(
          "p",
          { class: "none" },
          noneFound(tagged),
        ),
    more &&
      h(
        "p",
        { class: "more-row" },
        h("button", { type: "button", onclick: () => showFound(results, terms, tagged, MOST, signal) }, "Show more"),
      ),
  );
  announce(`${countOf(found.length, "image")}.`);
}

/** Why a search finds nothing. @param {boolean} tagged */
const noneFound = (tagged) =>
  tagged
    ? "No image is likely to have these labels without the excluded ones."
    : "All matching images are tagged; see “Include tagged”.";

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
