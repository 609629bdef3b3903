/** A row of example images: pictures where there are some, else IDs with labels. */

import { h } from "../core/dom.js";
import { count } from "../core/format.js";
import { pictureAddress } from "../core/model.js";
import { imageAddress } from "../core/route.js";
import { picture } from "./picture.js";

/** @typedef {{image: string, labels: string[], url?: string | null}} Example */

const LABELS_SHOWN = 5;

/**
 * @param {object} shape
 * @param {string} shape.title
 * @param {Example[]} shape.images
 * @param {number} [shape.total] number of all such images
 * @param {string | null} shape.template address of the pictures
 * @param {string[]} [shape.marked] labels to highlight
 * @param {string} [shape.none] sentence if there are no images
 */
export function exampleRow({ title, images, total, template, marked = [], none = "No images." }) {
  return h(
    "section",
    { class: "examples" },
    h("h3", {}, title, total !== undefined && h("span", { class: "examples-total" }, count(total))),
    images.length
      ? h("ul", {}, ...images.map((one) => h("li", {}, exampleLink(one, template, marked))))
      : h("p", { class: "aside" }, none),
  );
}

/** @param {Example} example @param {string | null} template @param {string[]} marked */
function exampleLink({ image, labels, url }, template, marked) {
  const address = url ?? pictureAddress(template, image);
  const order = [...labels].sort((one, other) => Number(marked.includes(other)) - Number(marked.includes(one)));
  const rest = order.length - LABELS_SHOWN;
  return h(
    "a",
    {
      class: `example ${address ? "with-picture" : ""}`,
      href: imageAddress(image),
      title: `${image}: ${labels.join(", ")}`,
    },
    address ? picture(address, image) : h("span", { class: "id" }, image),
    !address &&
      h("span", { class: "example-labels" }, order.slice(0, LABELS_SHOWN).join(", "), rest > 0 && ` and ${rest} more`),
  );
}
