/** Parsing and building of URL fragments: `#/image/ID`, `#/labels/sea,-people`, `#/search/sea?tagged=1`, ... */

/** @typedef {{label: string, without: boolean}} Term  a label to include or to exclude */
/**
 * @typedef {object} Route
 * @property {string} view
 * @property {string} [image]
 * @property {Term[]} [terms]
 * @property {boolean} [tagged]
 * @property {string} [kind]
 * @property {string} [label]
 * @property {string[]} [images]
 */

const KINDS = ["missing", "wrong", "duplicates"];
const TABS = ["labels", "implications", "aliases", "rules"];

/**
 * @param {string} hash as `location.hash` gives it
 * @returns {Route} view "unknown" for an unknown fragment
 */
export function parse(hash) {
  const [, view = "", rest = ""] = /^#?\/?([^/?]*)\/?(.*)$/s.exec(hash) ?? [];
  const [path, question = ""] = rest.split("?");
  switch (view) {
    case "":
      return { view: "start" };
    case "image":
      return path ? { view, image: decode(path) } : { view: "start" };
    case "labels":
      return { view, terms: readTerms(path) };
    case "search":
      return {
        view,
        terms: readTerms(path),
        tagged: new URLSearchParams(question).get("tagged") === "1",
        kind: new URLSearchParams(question).get("kind") === "wrong" ? "wrong" : "missing",
      };
    case "together":
      return { view, images: path.split(",").filter(Boolean).map(decode) };
    case "audit":
      return KINDS.includes(path || "missing") ? { view, kind: path || "missing" } : { view: "unknown" };
    case "vocabulary": {
      const [kind, label = ""] = path.split("/");
      return TABS.includes(kind || "labels")
        ? { view, kind: kind || "labels", label: decode(label) }
        : { view: "unknown" };
    }
    case "about":
      return { view };
    default:
      return { view: "unknown" };
  }
}

/** @param {string} image */
export const imageAddress = (image) => `#/image/${encodeURIComponent(image)}`;

/** @param {Term[]} terms */
export const labelsAddress = (terms) => `#/labels/${writeTerms(terms)}`;

/**
 * @param {Term[]} terms
 * @param {boolean} [tagged] include images that already have the labels
 */
export const searchAddress = (terms, tagged = false) => `#/search/${writeTerms(terms)}${tagged ? "?tagged=1" : ""}`;

/** Images that likely have a label by mistake. @param {string} label */
export const wrongAddress = (label) => `${searchAddress([withLabel(label)])}?kind=wrong`;

/** Several images that are labeled together. @param {string[]} images */
export const togetherAddress = (images) => `#/together/${images.map(encodeURIComponent).join(",")}`;

/** @param {string} label */
export const vocabularyAddress = (label) => `#/vocabulary/labels/${encodeURIComponent(label)}`;

/**
 * A term that includes a label.
 * @param {string} label
 * @returns {Term}
 */
export const withLabel = (label) => ({ label, without: false });

/**
 * Terms as the API expects them: a leading minus excludes a label.
 * @param {Term[]} terms
 */
export const toQuery = (terms) => terms.map((term) => (term.without ? `-${term.label}` : term.label));

/** @param {string} path @returns {Term[]} */
function readTerms(path) {
  const terms = path
    .split(",")
    .filter((part) => part && part !== "-")
    .map((part) => (part.startsWith("-") ? { label: decode(part.slice(1)), without: true } : withLabel(decode(part))));
  return terms.filter((term, index) => terms.findIndex((other) => other.label === term.label) === index);
}

/** @param {Term[]} terms */
function writeTerms(terms) {
  // Encode a leading minus of the label itself, so that it does not mean "without".
  const written = (/** @type {string} */ label) => encodeURIComponent(label).replace(/^-/, "%2D");
  return terms.map((term) => `${term.without ? "-" : ""}${written(term.label)}`).join(",");
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
