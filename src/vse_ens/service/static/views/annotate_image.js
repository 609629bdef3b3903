/** Annotating one image: current labels and suggestions; the service stores every verdict. */

import { ApiError, get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { TOP, setImageList, takeState } from "../core/images.js";
import { modelCard } from "../core/model.js";
import { imageAddress } from "../core/route.js";
import { imageCard } from "../parts/image_card.js";
import { orToast } from "../parts/toast.js";
import { undo } from "../parts/undo.js";
import { ImageEditor } from "./image_editor.js";

/** @typedef {import("./workspace.js").Workspace} Workspace */

const TOP_SIMILAR = 6;

/**
 * @param {Workspace} workspace
 * @param {string} image
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
export async function showImage(workspace, image, signal) {
  workspace.list.wait();
  workspace.terms = () => [];
  /** @type {import("../core/api.js").ImageState} */
  let state;
  // Asked at once, needed later.
  const card = modelCard();
  card.catch(() => undefined);
  try {
    state = takeState(image) ?? (await get("image", { id: image, top: TOP }, signal));
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    showUnknown(workspace, image, error);
    return image;
  }
  const { feedback, image_url: template } = await card;
  signal.throwIfAborted();
  const editor = new ImageEditor(workspace, state, feedback, signal);
  workspace.handlers = editor;
  editor.render();
  // An image known only from feedback has no vector to compare.
  if (state.known) orToast(() => showSimilar(workspace, image, template, signal));
  else fill(workspace.below);
  return image;
}

/** @param {Workspace} workspace @param {string} image @param {string | null} template @param {AbortSignal} signal */
async function showSimilar(workspace, image, template, signal) {
  /** @type {{similar: {image: string, labels: string[]}[]}} */
  const { similar } = await get("similar/images", { image, top: TOP_SIMILAR }, signal);
  const onOpen = () => setImageList([image, ...similar.map((one) => one.image)]);
  const cards = similar.map((one) => imageCard(one, template, [], onOpen));
  fill(
    workspace.below,
    cards.length > 0 && h("h2", {}, "Similar images"),
    h("ul", { class: "cards small" }, ...cards),
  );
}

/** @param {Workspace} workspace @param {string} image @param {ApiError} error */
function showUnknown(workspace, image, error) {
  workspace.handlers = { accept() {}, reject() {}, undo: () => undo(() => undefined) };
  workspace.list.show([]);
  workspace.none.hidden = false;
  workspace.none.textContent = "There are no suggestions for an unknown image.";
  workspace.rejected.hidden = true;
  fill(workspace.hint);
  fill(workspace.below);
  fill(
    workspace.subject,
    h(
      "div",
      { class: "subject-body" },
      h("p", { class: "kicker" }, "Unknown image"),
      h("h1", { class: "id", tabindex: -1 }, image),
      error.nearest.length > 0 ? h("h2", {}, "Did you mean") : h("p", {}, error.message),
      h(
        "ul",
        { class: "plain-list" },
        ...error.nearest.map((near) => h("li", {}, h("a", { class: "id", href: imageAddress(near) }, near))),
      ),
    ),
  );
}
