/** The card of one finding: the question, the image and the reasons. */

import { get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { pictureAddress } from "../core/model.js";
import { imageAddress, searchAddress, withLabel } from "../core/route.js";
import { asSentence, percent } from "../core/format.js";
import { picture } from "../parts/picture.js";
import { reasonBars } from "../parts/reasons.js";

/** @typedef {import("../core/api.js").Finding} Finding */

/**
 * @param {"missing" | "wrong" | "duplicates"} kind
 * @param {string | null} template address of the pictures
 * @param {AbortSignal} signal
 * @returns {(finding: Finding) => HTMLElement}
 */
export function findingCard(kind, template, signal) {
  /** Labels by image, cached for moving back and forth. @type {Map<string, Promise<string[]>>} */
  const seen = new Map();
  const labelsOf = (/** @type {string} */ image) => {
    const found =
      seen.get(image) ??
      get("image", { id: image, top: 1 }, signal).then((state) =>
        state.labels.map((/** @type {{label: string}} */ one) => one.label),
      );
    seen.set(image, found);
    return found;
  };
  return kind === "duplicates" ? pairCard : (finding) => imageFinding(kind, finding, template, labelsOf);
}

/**
 * @param {"missing" | "wrong"} kind
 * @param {Finding} finding
 * @param {string | null} template
 * @param {(image: string) => Promise<string[]>} labelsOf
 */
function imageFinding(kind, finding, template, labelsOf) {
  const image = finding.image ?? "";
  const tags = h("ul", { class: "tags", "aria-label": "Labels of the image" });
  // The labels arrive later; the card is usable without them.
  labelsOf(image).then(
    (labels) => fill(tags, ...labels.map((label) => h("li", { class: label === finding.label && "doubted" }, label))),
    () => fill(tags),
  );
  const question =
    kind === "missing"
      ? ["Is ", h("em", {}, finding.label), " missing from this image?"]
      : ["Is ", h("em", {}, finding.label), " wrong on this image?"];
  return h(
    "article",
    { class: "finding" },
    picture(pictureAddress(template, image), image, true),
    h(
      "div",
      { class: "finding-body" },
      h("h2", {}, ...question),
      h("div", { class: "finding-image" }, h("a", { class: "id", href: imageAddress(image) }, image), tags),
      h(
        "div",
        { class: "finding-case" },
        confidenceMeter(finding),
        why(finding, kind === "wrong" ? "Weak support" : "Evidence for it"),
      ),
    ),
  );
}

/** @param {Finding} finding */
function pairCard(finding) {
  const other = finding.other ?? "";
  const side = (/** @type {string} */ label) =>
    h(
      "a",
      { class: "pair-side", href: searchAddress([withLabel(label)], true) },
      h("strong", {}, label),
      h("span", {}, "images"),
    );
  return h(
    "article",
    { class: "finding" },
    h(
      "div",
      { class: "finding-body" },
      h("h2", {}, "Do ", h("em", {}, finding.label), " and ", h("em", {}, other), " mean the same thing?"),
      h(
        "div",
        { class: "pair" },
        side(finding.label),
        h("span", { class: "pair-sign", "aria-hidden": "true" }, "="),
        side(other),
      ),
      h("div", { class: "finding-case" }, confidenceMeter(finding), why(finding)),
    ),
  );
}

/** @param {Finding} finding */
function confidenceMeter({ confidence }) {
  const meter = h("span", { class: "meter", "aria-hidden": "true" });
  meter.style.setProperty("--share", String(confidence ?? 0));
  return h("p", { class: "confidence" }, meter, h("span", {}, `${percent(confidence)} confidence`));
}

/** @param {Finding} finding @param {string} [support] heading of the labels that support it */
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
