/** One finding, large: the question, the image it is about, and why. */

import { get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { pictureAddress } from "../core/model.js";
import { having, imageAddress, searchAddress } from "../core/route.js";
import { asSentence, percent } from "../core/words.js";
import { picture } from "../parts/picture.js";
import { reasonBars } from "../parts/reasons.js";

/** @typedef {import("../core/api.js").Finding} Finding */

/**
 * @param {"missing" | "wrong" | "duplicates"} kind
 * @param {string | null} template where pictures are
 * @param {AbortSignal} signal
 * @returns {(finding: Finding) => HTMLElement}
 */
export function findingCard(kind, template, signal) {
  /** Labels by image: neighbours in the queue are looked at again and again. @type {Map<string, Promise<string[]>>} */
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
  // Its labels come with a later answer; the card is judged without them just as well.
  labelsOf(image).then(
    (labels) => fill(tags, ...labels.map((label) => h("li", { class: label === finding.label && "doubted" }, label))),
    () => fill(tags),
  );
  const question =
    kind === "missing"
      ? ["Does this image lack ", h("em", {}, finding.label), "?"]
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
        surety(finding),
        why(finding, kind === "wrong" ? "Weak support" : "Speaking for it"),
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
      { class: "pair-side", href: searchAddress([having(label)], true) },
      h("strong", {}, label),
      h("span", {}, "its images"),
    );
  return h(
    "article",
    { class: "finding" },
    h(
      "div",
      { class: "finding-body" },
      h("h2", {}, "Are ", h("em", {}, finding.label), " and ", h("em", {}, other), " one?"),
      h(
        "div",
        { class: "pair" },
        side(finding.label),
        h("span", { class: "pair-sign", "aria-hidden": "true" }, "="),
        side(other),
      ),
      h("div", { class: "finding-case" }, surety(finding), why(finding)),
    ),
  );
}

/** @param {Finding} finding */
function surety({ confidence }) {
  const meter = h("span", { class: "meter", "aria-hidden": "true" });
  meter.style.setProperty("--share", String(confidence ?? 0));
  return h("p", { class: "surety" }, meter, h("span", {}, `${percent(confidence)} sure`));
}

/** @param {Finding} finding @param {string} [support] what labels that speak for it are called */
function why({ reason, because = [] }, support) {
  if (!because.length) return reason ? h("p", { class: "finding-why" }, asSentence(reason)) : null;
  const against = because.every((one) => one.share < 0);
  return h(
    "div",
    { class: "finding-why" },
    h("h3", {}, against ? "Speaking against it" : support),
    reasonBars(because),
  );
}
