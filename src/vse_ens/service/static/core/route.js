/** The address after `#`, read and written: `#/image/ID`, `#/labels/sea,-people`, `#/search/sea?tagged=1`, ... */

/** @typedef {{label: string, without: boolean}} Term  a label asked for, or asked to be absent */
/** @typedef {{view: string, image?: string, terms?: Term[], tagged?: boolean, kind?: string, label?: string}} Route */

const KINDS = ["missing", "wrong", "duplicates"];

/**
 * @param {string} hash as `location.hash` gives it
 * @returns {Route} view "lost" for an address that leads nowhere
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
      return { view, terms: readTerms(path), tagged: new URLSearchParams(question).get("tagged") === "1" };
    case "audit":
      return KINDS.includes(path || "missing") ? { view, kind: path || "missing" } : { view: "lost" };
    case "map":
      return { view, label: decode(path) };
    case "about":
      return { view };
    default:
      return { view: "lost" };
  }
}

/** @param {string} image */
export const imageAddress = (image) => `#/image/${encodeURIComponent(image)}`;

/** @param {Term[]} terms */
export const labelsAddress = (terms) => `#/labels/${writeTerms(terms)}`;

/**
 * @param {Term[]} terms
 * @param {boolean} [tagged] also images that carry the labels
 */
export const searchAddress = (terms, tagged = false) => `#/search/${writeTerms(terms)}${tagged ? "?tagged=1" : ""}`;

/** @param {string} label */
export const mapAddress = (label) => `#/map/${encodeURIComponent(label)}`;

/**
 * One label, asked for.
 * @param {string} label
 * @returns {Term}
 */
export const having = (label) => ({ label, without: false });

/**
 * What the service takes: the label, or the label after a minus.
 * @param {Term[]} terms
 */
export const asQuery = (terms) => terms.map((term) => (term.without ? `-${term.label}` : term.label));

/** @param {string} path @returns {Term[]} */
function readTerms(path) {
  const terms = path
    .split(",")
    .filter((part) => part && part !== "-")
    .map((part) => (part.startsWith("-") ? { label: decode(part.slice(1)), without: true } : having(decode(part))));
  return terms.filter((term, place) => terms.findIndex((other) => other.label === term.label) === place);
}

/** @param {Term[]} terms */
function writeTerms(terms) {
  // A minus of the label's own is written so that it is not read as "without".
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
