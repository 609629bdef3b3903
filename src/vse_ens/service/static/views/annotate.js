/** Annotate: find an image or give labels, then accept and reject what the model suggests. */

import { fill, h } from "../core/dom.js";
import { after, afterAtRandom, before, lastOrRandom, standing } from "../core/images.js";
import { having, imageAddress, labelsAddress } from "../core/route.js";
import { shortcuts } from "../core/shortcuts.js";
import { combobox } from "../parts/combobox.js";
import { both, images, labels } from "../parts/completers.js";
import { icon } from "../parts/icon.js";
import { orToast } from "../parts/toast.js";
import { makeDesk } from "./desk.js";
import { showImage } from "./annotate_image.js";
import { showLabels } from "./annotate_labels.js";

/**
 * @param {HTMLElement} host
 * @param {AbortSignal} signal
 * @returns {import("../app.js").View}
 */
export function mount(host, signal) {
  const desk = makeDesk();
  /** @type {string | null} */
  let image = null;
  let wantsChips = false;

  const open = (/** @type {string} */ other) => (location.hash = imageAddress(other));
  const step = (/** @type {() => Promise<string | undefined>} */ find, byKey = false) =>
    orToast(async () => {
      const other = await find();
      wantsChips = byKey;
      if (other) open(other);
    });
  const random = () => afterAtRandom(image, signal);
  const next = () => (image ? after(image, signal) : random());
  const previous = async () => (image ? before(image) : undefined);

  const finder = combobox({
    label: "Find an image, or type a label",
    placeholder: "An image, or a label",
    main: true,
    complete: both(
      images(open, { limit: 5, group: "Images" }),
      labels((label) => (location.hash = labelsAddress([...desk.terms(), having(label)])), {
        limit: 7,
        group: "Labels: begin with one, add more",
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
  const dice = h("button", { type: "button", onclick: () => step(random) }, icon("dice"), "A random image");
  fill(
    host,
    h("div", { class: "find" }, finder.element, dice, h("div", { class: "steps" }, where, back, forth)),
    desk.element,
  );

  const arrow = (/** @type {KeyboardEvent} */ event) => {
    const target = /** @type {Element} */ (event.target);
    // On another link or button an arrow scrolls, as everywhere.
    if (!desk.list.element.contains(target) && target.closest("a, button, summary")) return false;
    return desk.list.move(event.key);
  };
  const edge = (/** @type {KeyboardEvent} */ event) =>
    desk.list.element.contains(/** @type {Element} */ (event.target)) && arrow(event);
  shortcuts(
    {
      ArrowLeft: arrow,
      ArrowRight: arrow,
      ArrowUp: arrow,
      ArrowDown: arrow,
      Home: edge,
      End: edge,
      a: desk.list.accept,
      x: desk.list.reject,
      r: desk.list.reject,
      u: () => desk.judge.undo(),
      n: () => step(next, true),
      p: () => step(previous, true),
    },
    signal,
  );

  return {
    async show(route, visit) {
      if (route.view === "start") {
        // The shortest way in: an image is there already, and a click is all it takes.
        location.replace(imageAddress(await lastOrRandom(visit)));
        return undefined;
      }
      image = route.view === "image" ? (route.image ?? null) : null;
      fill(where, image ? standing(image) : "");
      /** @type {HTMLButtonElement} */ (back).disabled = !image || before(image) === undefined;
      const title = image ? await showImage(desk, image, visit) : await showLabels(desk, route.terms ?? [], visit);
      if (wantsChips) desk.list.focus();
      // The link that led here is gone with what was below the last image.
      else if (document.activeElement === document.body)
        desk.subject.querySelector("h1")?.focus({ preventScroll: true });
      wantsChips = false;
      return title;
    },
  };
}
