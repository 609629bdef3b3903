/** One image: the labels it has, those it may lack; the service keeps every verdict, and the list changes at once. */

import { ApiError, get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { walkThrough } from "../core/images.js";
import { modelCard } from "../core/model.js";
import { imageAddress } from "../core/route.js";
import { imageCard } from "../parts/image_card.js";
import { orToast } from "../parts/toast.js";
import { Sheet } from "./image_sheet.js";

/** @typedef {import("./desk.js").Desk} Desk */

const TOP = 12;
const ALIKE = 6;

/**
 * @param {Desk} desk
 * @param {string} image
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
export async function showImage(desk, image, signal) {
  desk.list.wait();
  desk.terms = () => [];
  /** @type {import("../core/api.js").ImageState} */
  let state;
  try {
    state = await get("image", { id: image, top: TOP }, signal);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    showUnknown(desk, image, error);
    return image;
  }
  const { feedback, image_url: template } = await modelCard();
  signal.throwIfAborted();
  const sheet = new Sheet(desk, state, feedback, signal);
  desk.judge = sheet;
  sheet.begin();
  // An image that only the feedback knows is like no other.
  if (state.known) orToast(() => showAlike(desk, image, template, signal));
  else fill(desk.below);
  return image;
}

/** @param {Desk} desk @param {string} image @param {string | null} template @param {AbortSignal} signal */
async function showAlike(desk, image, template, signal) {
  /** @type {{similar: {image: string, labels: string[]}[]}} */
  const { similar } = await get("similar/images", { image, top: ALIKE }, signal);
  const onOpen = () => walkThrough([image, ...similar.map((one) => one.image)]);
  const cards = similar.map((one) => imageCard(one, template, [], onOpen));
  fill(
    desk.below,
    cards.length > 0 && h("h2", {}, "Images like this one"),
    h("ul", { class: "cards small" }, ...cards),
  );
}

/** @param {Desk} desk @param {string} image @param {ApiError} error */
function showUnknown(desk, image, error) {
  desk.judge = { accept() {}, reject() {}, undo() {} };
  desk.list.show([]);
  desk.none.hidden = false;
  desk.none.textContent = "Without an image there is nothing to suggest.";
  desk.rejected.hidden = true;
  fill(desk.hint);
  fill(desk.below);
  fill(
    desk.subject,
    h(
      "div",
      { class: "subject-body" },
      h("p", { class: "kicker" }, "No such image"),
      h("h1", { class: "id", tabindex: -1 }, image),
      error.nearest.length > 0 ? h("h2", {}, "Perhaps you meant") : h("p", {}, error.message),
      h(
        "ul",
        { class: "plain-list" },
        ...error.nearest.map((near) => h("li", {}, h("a", { class: "id", href: imageAddress(near) }, near))),
      ),
    ),
  );
}
