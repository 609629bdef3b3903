/** Annotate: choose an image, several images or labels, then accept or reject suggestions. */

import { fill, h } from "../core/dom.js";
import { lastOrFirst, nextImage, positionInList, previousImage, randomNext } from "../core/images.js";
import { modelCard } from "../core/model.js";
import { imageAddress, labelsAddress, withLabel } from "../core/route.js";
import { digits, shortcuts } from "../core/shortcuts.js";
import { annotateSettings } from "../parts/annotate_settings.js";
import { combobox } from "../parts/combobox.js";
import { both, images, labels } from "../parts/completers.js";
import { icon } from "../parts/icon.js";
import { orToast } from "../parts/toast.js";
import { makeWorkspace } from "./workspace.js";
import { showImage } from "./annotate_image.js";
import { showLabels } from "./annotate_labels.js";
import { showTogether } from "./annotate_together.js";

/**
 * @param {HTMLElement} host
 * @param {AbortSignal} signal
 * @returns {import("../app.js").View}
 */
export function mount(host, signal) {
  const workspace = makeWorkspace();
  /** @type {string | null} */
  let image = null;
  let focusSuggestions = false;

  const open = (/** @type {string} */ other) => (location.hash = imageAddress(other));
  const step = (/** @type {() => Promise<string | undefined>} */ find, byKey = false) =>
    orToast(async () => {
      const other = await find();
      focusSuggestions = byKey;
      if (other) open(other);
    });
  const random = () => randomNext(image, signal);
  const next = () => (image ? nextImage(image, signal) : random());
  const previous = async () => (image ? previousImage(image) : undefined);

  const finder = combobox({
    label: "Find an image or a label",
    placeholder: "Image or label",
    main: true,
    complete: both(
      images(open, { limit: 5, group: "Images" }),
      labels((label) => (location.hash = labelsAddress([...workspace.terms(), withLabel(label)])), {
        limit: 7,
        group: "Start from a label",
      }),
    ),
  });
  const back = h(
    "button",
    {
      type: "button",
      class: "icon-only",
      "aria-label": "Previous image",
      title: "Previous image (p)",
      onclick: () => step(previous),
    },
    icon("back"),
  );
  const where = h("span", { class: "where" });
  const forth = h(
    "button",
    {
      type: "button",
      class: "icon-only",
      "aria-label": "Next image",
      title: "Next image (n)",
      onclick: () => step(next),
    },
    icon("forth"),
  );
  const dice = h("button", { type: "button", onclick: () => step(random) }, icon("dice"), "Random image");
  const settings = annotateSettings();
  fill(
    host,
    h("div", { class: "find" }, finder.element, dice, h("div", { class: "steps" }, where, back, forth)),
    settings.element,
    workspace.element,
  );
  workspace.reviewed = () => settings.update();
  workspace.next = () => step(next, workspace.list.element.contains(document.activeElement));

  const arrow = (/** @type {KeyboardEvent} */ event) => {
    const target = /** @type {Element} */ (event.target);
    // On other links and buttons, arrow keys scroll as usual.
    if (!workspace.list.element.contains(target) && target.closest("a, button, summary")) return false;
    return workspace.list.move(event.key);
  };
  const edge = (/** @type {KeyboardEvent} */ event) =>
    workspace.list.element.contains(/** @type {Element} */ (event.target)) && arrow(event);
  shortcuts(
    {
      ArrowLeft: arrow,
      ArrowRight: arrow,
      ArrowUp: arrow,
      ArrowDown: arrow,
      Home: edge,
      End: edge,
      a: workspace.list.accept,
      x: workspace.list.reject,
      r: workspace.list.reject,
      u: () => workspace.handlers.undo(),
      n: () => step(next, true),
      p: () => step(previous, true),
    },
    signal,
  );
  digits((number, shift) => workspace.list.decide(number, shift), signal);

  return {
    async show(route, visit) {
      if (route.view === "start") {
        settings.update(true);
        // Asked together with the queue, needed with the image.
        modelCard().catch(() => undefined);
        // Start with an image, so that one click is enough.
        location.replace(imageAddress(await lastOrFirst(visit)));
        return undefined;
      }
      image = route.view === "image" ? (route.image ?? null) : null;
      fill(where, image ? positionInList(image) : "");
      /** @type {HTMLButtonElement} */ (back).disabled = !image || previousImage(image) === undefined;
      settings.update();
      settings.element.hidden = !image;
      const title = image
        ? await showImage(workspace, image, visit)
        : route.view === "together"
          ? await showTogether(workspace, route.images ?? [], visit)
          : await showLabels(workspace, route.terms ?? [], visit);
      if (focusSuggestions) workspace.list.focus();
      // The link that led here has been removed from the page.
      else if (document.activeElement === document.body)
        workspace.subject.querySelector("h1")?.focus({ preventScroll: true });
      focusSuggestions = false;
      return title;
    },
  };
}
