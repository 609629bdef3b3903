/** About: what this model is, trained on what, how good, which version and when. */

import { get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { count, countOf, percent } from "../core/format.js";
import { download } from "../parts/download.js";
import { icon } from "../parts/icon.js";
import { orToast } from "../parts/toast.js";

/** @typedef {import("../core/model.js").ModelCard} ModelCard */

const dates = new Intl.DateTimeFormat("en-GB", { dateStyle: "long" });

/**
 * @param {HTMLElement} host
 * @returns {import("../app.js").View}
 */
export function mount(host) {
  return {
    async show(_, signal) {
      /** @type {ModelCard} */
      const card = await get("model", {}, signal);
      fill(
        host,
        h("p", { class: "kicker" }, "About this model"),
        h("h1", { class: "model-name", tabindex: -1 }, card.name),
        h("p", { class: "about-lead" }, ...sentences(card)),
        h(
          "ul",
          { class: "figures" },
          figure(count(card.images), "images"),
          figure(count(card.labels), "labels"),
          figure(count(card.pairs), "labels on images"),
          figure((card.pairs / Math.max(1, card.images)).toFixed(1), "labels per image"),
        ),
        quality(card),
        percentages(card),
        service(card),
        card.feedback && acceptedPairs(),
        details(card),
      );
      return "About";
    },
  };
}

/** What it is, in one or two sentences. @param {ModelCard} card */
function sentences(card) {
  const source = String(card.config.tower).includes("features")
    ? " and their features"
    : " alone: it has seen no picture";
  return [
    `It suggests labels for images. It learned from the labels of ${countOf(card.images, "image")}${source}. `,
    card.saved_at && h("time", { datetime: card.saved_at }, `Trained on ${dates.format(new Date(card.saved_at))}.`),
  ];
}

/** How good it is on labels that were held out. @param {ModelCard} card */
function quality({ validation, has_confidence: hasConfidence }) {
  const at5 = number(validation?.["recall@5"]);
  const at10 = number(validation?.["recall@10"]);
  const auc = number(validation?.auc);
  const rows = [
    at5 !== null && bar(at5, "of hidden labels are among its first 5 suggestions"),
    at10 !== null && bar(at10, "are among its first 10"),
    auc !== null && bar(auc, "of the time it ranks a hidden label above a label chosen at random"),
  ];
  return h(
    "section",
    { class: "about-part" },
    h("h2", {}, "How good it is"),
    validation
      ? h("p", { class: "lead" }, "Before training, one label of some images was hidden. Measured on those:")
      : h("p", { class: "lead" }, "It was trained without held-out labels, so its quality was not measured."),
    validation && h("ul", { class: "bars" }, ...rows),
    !hasConfidence &&
      h("p", { class: "lead" }, "It has no percentages beside suggestions, because none were calibrated."),
  );
}

/** What the percentages beside suggestions mean. @param {ModelCard} card */
function percentages({ confidence }) {
  if (!confidence) return null;
  const { completeness, given, verdicts, used, needed, wanted } = confidence;
  const share = `${percent(completeness)} of all right labels`;
  const basis = given
    ? `They rest on the statement that the data have ${share}.`
    : `They rest on an estimate: the data are taken to have ${share}.`;
  const corrected = used
    ? `${countOf(used, "verdict")} on suggestions have corrected them.`
    : `From ${needed} verdicts on suggestions on, these correct them.`;
  const more = `There are ${countOf(verdicts, "verdict")} so far; ${wanted} are enough. To give more, choose “Next: to calibrate” under Annotate.`;
  return h(
    "section",
    { class: "about-part" },
    h("h2", {}, "The percentages"),
    h(
      "p",
      { class: "lead" },
      "The percentage beside a suggestion is its confidence: the chance that the label is right. ",
      `Of suggestions with 40\u00a0%, about 40\u00a0% should be right. ${basis} ${corrected} `,
      verdicts < wanted && more,
    ),
  );
}

/** @param {ModelCard} card */
function service(card) {
  return h(
    "section",
    { class: "about-part" },
    h("h2", {}, "This service"),
    facts({
      "vse-ens": `version ${card.version}`,
      model: card.fingerprint,
      pictures: card.image_url ? "shown" : "none; start it with --images FOLDER",
      verdicts: verdicts(card),
    }),
  );
}

/** @param {ModelCard} card */
function verdicts({ feedback, read_only: readOnly }) {
  if (readOnly) return "not from you: your key is for reading only";
  return feedback ? "stored as soon as they are made" : "not stored";
}

/** @param {ModelCard} card */
function details(card) {
  return h(
    "details",
    { class: "about-details" },
    h("summary", {}, "All settings and measurements"),
    h(
      "div",
      { class: "about-columns" },
      card.validation && section("Validation", card.validation),
      section("Training", card.training),
      section("Settings", { preset: card.preset, ...card.config }),
    ),
  );
}

/** @param {string} value @param {string} thing */
const figure = (value, thing) => h("li", {}, h("strong", {}, value), h("span", {}, thing));

/** @param {number} share @param {string} text */
function bar(share, text) {
  const meter = h("span", { class: "meter", "aria-hidden": "true" });
  meter.style.setProperty("--share", String(share));
  return h("li", {}, h("p", {}, h("strong", {}, percent(share)), ` ${text}`), meter);
}

/** @param {string} title @param {Record<string, unknown>} values */
const section = (title, values) => h("section", {}, h("h3", {}, title), facts(values));

/** @param {Record<string, unknown>} values */
const facts = (values) =>
  h(
    "dl",
    { class: "facts" },
    ...Object.entries(values).map(([name, value]) =>
      h("div", {}, h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, asText(value))),
    ),
  );

function acceptedPairs() {
  const save = () =>
    orToast(async () => download("accepted-pairs.csv", await get("feedback/pairs", { format: "csv" })));
  return h(
    "section",
    { class: "about-part" },
    h("h2", {}, "Accepted labels"),
    h(
      "p",
      { class: "lead" },
      "Every label that was accepted here, with user and time. ",
      h("code", {}, "vse update"),
      " adds them to the model. The whole cleaned data set is under ",
      h("a", { href: "#/vocabulary" }, "Labels"),
      ".",
    ),
    h("button", { type: "button", onclick: save }, icon("download"), "Download as CSV"),
  );
}

/** @param {unknown} value */
const number = (value) => (typeof value === "number" ? value : null);

/** @param {unknown} value @returns {string} */
function asText(value) {
  if (value === null || value === undefined || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(4)));
  if (Array.isArray(value)) return value.map(asText).join(", ");
  if (typeof value === "object")
    return Object.entries(value)
      .map(([name, inner]) => `${name} ${asText(inner)}`)
      .join(", ");
  return String(value);
}
