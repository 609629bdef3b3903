/** About: data, training, configuration and validation of the model. */

import { get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { count } from "../core/format.js";
import { download } from "../parts/download.js";
import { icon } from "../parts/icon.js";
import { orToast } from "../parts/toast.js";

/**
 * @param {HTMLElement} host
 * @returns {import("../app.js").View}
 */
export function mount(host) {
  return {
    async show(_, signal) {
      /** @type {import("../core/model.js").ModelCard} */
      const card = await get("model", {}, signal);
      fill(
        host,
        h("p", { class: "kicker" }, "About this model"),
        h("h1", { class: "model-name", tabindex: -1 }, card.name),
        h(
          "ul",
          { class: "figures" },
          figure(card.images, "images"),
          figure(card.labels, "labels"),
          figure(card.pairs, "pairs"),
        ),
        h(
          "div",
          { class: "about-columns" },
          section("The service", {
            version: `vse-ens ${card.version}`,
            model: card.fingerprint,
            preset: card.preset ?? "none",
            confidence: card.has_confidence ? "calibrated on held-out labels" : "none: trained without held-out labels",
            pictures: card.image_url ?? "none: started without --image-url",
            verdicts: card.feedback ? "stored" : "not stored",
          }),
          card.validation && section("Validation", card.validation),
          section("Training", card.training),
          section("Configuration", card.config),
        ),
        card.feedback && acceptedPairs(),
      );
      return "About";
    },
  };
}

/** @param {number} number @param {string} thing */
const figure = (number, thing) => h("li", {}, h("strong", {}, count(number)), h("span", {}, thing));

/** @param {string} title @param {Record<string, unknown>} facts */
function section(title, facts) {
  const rows = Object.entries(facts).map(([name, value]) =>
    h("div", {}, h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, asText(value))),
  );
  return h("section", {}, h("h2", {}, title), h("dl", { class: "facts" }, ...rows));
}

function acceptedPairs() {
  const save = (/** @type {string} */ format) => () =>
    orToast(async () => download(`accepted-pairs.${format}`, await get("feedback/pairs", { format })));
  return h(
    "section",
    { class: "accepted-pairs" },
    h("h2", {}, "Accepted labels"),
    h("p", {}, "All accepted (image, label) pairs with user and time, for `vse train` or `vse update`."),
    h("button", { type: "button", onclick: save("csv") }, icon("download"), "Download as CSV"),
  );
}

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
