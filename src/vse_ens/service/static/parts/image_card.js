/** A card of an image in a list: picture, ID, confidence, labels. */

import { h } from "../core/dom.js";
import { pictureAddress } from "../core/model.js";
import { imageAddress } from "../core/route.js";
import { percent } from "../core/format.js";
import { picture } from "./picture.js";

const SHOWN = 8;

/**
 * @param {{image: string, labels: string[], share?: number | null, url?: string | null}} found
 * @param {string | null} template address of the pictures
 * @param {string[]} [marked] labels to highlight
 * @param {() => void} [onOpen] called before the image opens
 */
export function imageCard({ image, labels, share, url }, template, marked = [], onOpen) {
  const order = [...labels].sort((one, other) => Number(marked.includes(other)) - Number(marked.includes(one)));
  const rest = order.length - SHOWN;
  const bar = share === null || share === undefined ? null : h("span", { class: "meter", "aria-hidden": "true" });
  bar?.style.setProperty("--share", String(Math.max(0, Math.min(1, share ?? 0))));
  return h(
    "li",
    { class: "card" },
    picture(url ?? pictureAddress(template, image), image),
    h(
      "div",
      { class: "card-body" },
      h(
        "div",
        { class: "card-head" },
        h("a", { class: "card-link id", href: imageAddress(image), title: image, onclick: onOpen }, image),
        bar && h("span", { class: "card-share", title: "confidence" }, percent(share)),
      ),
      bar,
      h(
        "ul",
        { class: "tags", "aria-label": "Labels" },
        ...order.slice(0, SHOWN).map((label) => h("li", { class: marked.includes(label) && "marked" }, label)),
        rest > 0 && h("li", { class: "more" }, `and ${rest} more`),
      ),
    ),
  );
}
