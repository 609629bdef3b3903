/** The card of one finding: the question, the image or both labels' images, and the reasons. */

import { get, postQuery } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { pictureAddress } from "../core/model.js";
import { imageAddress, searchAddress, withLabel } from "../core/route.js";
import { asSentence, percent } from "../core/format.js";
import { exampleRow } from "../parts/examples.js";
import { picture } from "../parts/picture.js";
import { reasonBars } from "../parts/reasons.js";
import { orToast } from "../parts/toast.js";

/** @typedef {import("../core/api.js").Finding} Finding */

const EXAMPLES = 6;
const ALL_REASONS = 100;

/**
 * @param {"missing" | "wrong" | "duplicates"} kind
 * @param {string | null} template address of the pictures
 * @param {AbortSignal} signal
 * @returns {(finding: Finding) => HTMLElement}
 */
export function findingCard(kind, template, signal) {
  /** Requests by address, kept for moving back and forth. @type {Map<string, Promise<any>>} */
  const seen = new Map();
  const once = (/** @type {string} */ path, /** @type {Record<string, string | number>} */ query) => {
    const name = JSON.stringify([path, query]);
    const found = seen.get(name) ?? get(path, query, signal);
    seen.set(name, found);
    return found;
  };
  return kind === "duplicates"
    ? (finding) => pairCard(finding, template, once)
    : (finding) => imageFinding(kind, finding, template, once, signal);
}

/**
 * @param {"missing" | "wrong"} kind
 * @param {Finding} finding
 * @param {string | null} template
 * @param {(path: string, query: Record<string, string | number>) => Promise<any>} once
 * @param {AbortSignal} signal
 */
function imageFinding(kind, finding, template, once, signal) {
  const image = finding.image ?? "";
  const tags = h("ul", { class: "tags", "aria-label": "Labels of the image" });
  // The card is usable without them.
  once("image", { id: image, top: 1 }).then(
    (state) =>
      fill(
        tags,
        ...state.labels.map((/** @type {{label: string}} */ { label }) =>
          h("li", { class: label === finding.label && "doubted" }, label),
        ),
      ),
    () => fill(tags),
  );
  const question =
    kind === "missing"
      ? ["Is ", h("em", {}, finding.label), " in this image?"]
      : ["Is ", h("em", {}, finding.label), " really in this image?"];
  return h(
    "article",
    { class: "finding" },
    picture(largePicture(finding.url ?? pictureAddress(template, image)), image, true),
    h(
      "div",
      { class: "finding-body" },
      h("h2", {}, ...question),
      h(
        "div",
        { class: "finding-case" },
        confidenceMeter(finding, kind === "missing" ? "likely to be missing" : "likely to be wrong"),
        why(finding, kind === "wrong" ? "Weak support" : "Evidence for it"),
        allReasons(finding, signal),
      ),
      // Last, because the labels arrive later.
      h(
        "div",
        { class: "finding-image" },
        h("a", { class: "id", href: imageAddress(image) }, image),
        h("h3", {}, "Its labels"),
        tags,
      ),
    ),
  );
}

/**
 * Two labels that may mean the same, with the images of both.
 * @param {Finding} finding
 * @param {string | null} template
 * @param {(path: string, query: Record<string, string | number>) => Promise<any>} once
 */
export function pairCard(finding, template, once) {
  const { label, other = "" } = finding;
  const side = (/** @type {string} */ name) => {
    const images = h("div", { class: "pair-images" });
    once("label/images", { label: name, limit: EXAMPLES }).then(
      (found) =>
        fill(
          images,
          exampleRow({ title: "Images", images: found.images, total: found.total, template, marked: [name] }),
        ),
      () => fill(images),
    );
    return h(
      "section",
      { class: "pair-side", "aria-label": name },
      h("a", { class: "pair-name", href: searchAddress([withLabel(name)], true) }, name),
      images,
    );
  };
  return h(
    "article",
    { class: "finding" },
    h(
      "div",
      { class: "finding-body pair-body" },
      h(
        "h2",
        {},
        isSame(finding) ? "Are " : "Used alike: are ",
        h("em", {}, label),
        " and ",
        h("em", {}, other),
        " the same?",
      ),
      h("p", { class: "finding-why" }, asSentence(finding.reason ?? finding.evidence ?? "")),
      h("div", { class: "pair" }, side(label), side(other)),
    ),
  );
}

/**
 * Whether two labels are one by their spelling or a strict test, rather than used alike.
 * @param {Finding} finding
 */
export const isSame = ({ kind, evidence = "usage" }) => (kind ? kind === "same" : evidence !== "usage");

/** A large picture of this service, or the address as it is. @param {string | null} address */
const largePicture = (address) => address && address.replace(/([?&]size=)\d+/, "$1640");

/** @param {Finding} finding @param {string} text */
function confidenceMeter({ confidence }, text) {
  const meter = h("span", { class: "meter", "aria-hidden": "true" });
  meter.style.setProperty("--share", String(confidence ?? 0));
  return h("p", { class: "confidence" }, meter, h("span", {}, `${percent(confidence)} ${text}`));
}

/** @param {Finding} finding @param {string} support heading of the labels that support it */
function why({ reason, because = [] }, support) {
  if (!because.length) return reason ? h("p", { class: "finding-why" }, asSentence(reason)) : null;
  const against = because.every((one) => one.share < 0);
  return h(
    "div",
    { class: "finding-why" },
    h("h3", {}, against ? "Evidence against it" : support),
    reasonBars(because),
  );
}

/** All contributions to the score, computed when they are opened. @param {Finding} finding @param {AbortSignal} signal */
function allReasons({ image, label }, signal) {
  const body = h("div", {});
  const details = h("details", { class: "all-reasons" }, h("summary", {}, "All reasons"), body);
  details.addEventListener(
    "toggle",
    () =>
      orToast(async () => {
        const { because, left_out: leftOut } = await postQuery("explain", { image, label }, signal);
        fill(
          body,
          h(
            "p",
            { class: "aside" },
            leftOut ? `The score of ${label}, by the other labels:` : `The score of ${label}:`,
          ),
          reasonBars(because, ALL_REASONS),
        );
      }),
    { once: true },
  );
  return details;
}
