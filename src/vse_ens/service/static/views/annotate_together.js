/** Several images labeled together: their labels, suggestions for all of them, one batch per verdict. */

import { announce } from "../core/announcer.js";
import { ApiError, postChange, postQuery } from "../core/api.js";
import { enqueue, remember } from "../core/verdicts.js";
import { fill, h } from "../core/dom.js";
import { countOf } from "../core/format.js";
import { setImageList } from "../core/images.js";
import { imageAddress } from "../core/route.js";
import { combobox } from "../parts/combobox.js";
import { labels as labelCompleter, orNew } from "../parts/completers.js";
import { picture } from "../parts/picture.js";
import { orToast } from "../parts/toast.js";
import { undo } from "../parts/undo.js";

const TOP = 12;
const SHOWN = 24;

/**
 * @typedef {object} Together
 * @property {{image: string, url: string | null}[]} images
 * @property {{label: string, images: number}[]} labels
 * @property {{label: string, score: number, confidence: number | null, images: string[]}[]} suggestions
 */

/**
 * @param {import("./workspace.js").Workspace} workspace
 * @param {string[]} images
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
export async function showTogether(workspace, images, signal) {
  workspace.list.wait();
  workspace.terms = () => [];
  const ask = () => postQuery("together", { images, top: TOP }, signal);
  /** @type {Together} */
  let answer;
  try {
    answer = await ask();
  } catch (error) {
    if (error instanceof ApiError && [404, 422].includes(error.status))
      throw new ApiError(`These images cannot be labeled together: ${error.message}`, error.status);
    throw error;
  }
  /** @type {Set<string>} */
  const pending = new Set();
  const held = h("ul", { class: "label-chips", "aria-label": "Labels of these images" });
  const address = location.hash;

  const show = (/** @type {Together} */ state, isNew = true) => {
    answer = state;
    fill(
      held,
      ...state.labels.slice(0, SHOWN).map((one) =>
        h(
          "li",
          { class: "label-chip data" },
          h("span", {}, one.label),
          h("span", { class: "chip-count" }, one.images === images.length ? "all" : one.images),
        ),
      ),
    );
    const left = state.suggestions.filter((one) => !pending.has(one.label));
    workspace.list.show(
      left.map((one) => ({ label: one.label, score: one.score, confidence: one.confidence })),
      !isNew,
    );
    workspace.none.hidden = left.length > 0;
    workspace.none.textContent = "No more suggestions for these images.";
  };

  const decide = (/** @type {string} */ label, /** @type {"accept" | "reject"} */ verdict) => {
    if (pending.has(label)) return;
    pending.add(label);
    show(answer, false);
    const targets = answer.suggestions.find((one) => one.label === label)?.images ?? images;
    const events = targets.map((image) => ({ image, label, verdict }));
    const what = countOf(targets.length, "image");
    enqueue(() =>
      orToast(async () => {
        try {
          const { batch } = await postChange("feedback/batch", { events, source: "page" });
          if (batch !== null) remember({ batch, text: `${verdict} ${label} for ${what}`, address });
          announce(`${verdict === "accept" ? "Accepted" : "Rejected"} ${label} for ${what}.`);
        } finally {
          pending.delete(label);
          if (!signal.aborted) show(await ask());
        }
      }),
    );
  };
  workspace.handlers = {
    accept: ({ label }) => decide(label, "accept"),
    reject: ({ label }) => decide(label, "reject"),
    undo: () => undo(() => orToast(async () => show(await ask()))),
  };
  const adder = combobox({
    label: "Add a label to all",
    placeholder: "Add a label to all",
    plain: true,
    complete: orNew(
      labelCompleter((label) => decide(label, "accept"), { isNew: true }),
      (label) => decide(label, "accept"),
    ),
  });
  fill(
    workspace.subject,
    h(
      "div",
      { class: "subject-body" },
      h("p", { class: "kicker" }, "Labeled together"),
      h("h1", { tabindex: -1 }, countOf(answer.images.length, "image")),
      h("h2", {}, "Labels"),
      held,
      adder.element,
    ),
  );
  fill(workspace.hint, "A verdict is about all images that lack the label.");
  workspace.rejected.hidden = true;
  const open = () => setImageList(images);
  fill(
    workspace.below,
    h(
      "ul",
      { class: "cards small together", "aria-label": "Images" },
      ...answer.images.map((one) =>
        h(
          "li",
          { class: "card" },
          picture(one.url, one.image),
          h(
            "div",
            { class: "card-body" },
            h("a", { class: "card-link id", href: imageAddress(one.image), title: one.image, onclick: open }, one.image),
          ),
        ),
      ),
    ),
  );
  show(answer);
  return countOf(images.length, "image");
}
