/** Images to decide on together: a grid, a bar with the verdicts, one request and one undo per batch. */

import { announce } from "../core/announcer.js";
import { postChange } from "../core/api.js";
import { enqueue, remember } from "../core/verdicts.js";
import { fill, h } from "../core/dom.js";
import { count, countOf } from "../core/format.js";
import { setImageList } from "../core/images.js";
import { imageAddress, togetherAddress } from "../core/route.js";
import { shortcuts } from "../core/shortcuts.js";
import { ImageGrid } from "../parts/image_grid.js";
import { notice } from "../parts/notice.js";
import { orToast } from "../parts/toast.js";
import { undo } from "../parts/undo.js";

/** @typedef {import("../parts/image_grid.js").GridItem} GridItem */
/** @typedef {{images: GridItem[], total: number}} Page */

const PAGE = 60;
/** The most images of one request. */
const MOST = 500;
const MOST_TOGETHER = 100;

/**
 * @typedef {object} Choices
 * @property {string} name accessible name of the grid
 * @property {string[]} labels that a verdict is about
 * @property {boolean} [suggested] whether the images do not have the labels yet, so that confidences are of suggestions
 * @property {{accept: string, reject: string}} verbs of the buttons
 * @property {(offset: number, limit: number) => Promise<Page>} load
 * @property {(page: Page) => void} [loaded] called with every first page
 * @property {() => string} none why there are no images
 * @property {AbortSignal} signal
 */

/**
 * Show the first images, more on demand, and the bar.
 * @param {HTMLElement} host
 * @param {Choices} choices
 * @returns {Promise<{reload(): Promise<void>}>}
 */
export async function showChoices(host, { name, labels, suggested = true, verbs, load, loaded, none, signal }) {
  const grid = new ImageGrid({
    label: name,
    open: (image) => {
      setImageList(grid.items.map((item) => item.image));
      location.hash = imageAddress(image);
    },
    changed: () => showBar(),
  });
  let total = 0;
  let loading = false;
  const bar = h("div", { class: "choice-bar", role: "toolbar", "aria-label": "Decide on the selected images" });
  const more = h("button", { type: "button", onclick: () => loadMore() }, "Show more");
  const moreRow = h("p", { class: "more-row" }, more);
  const nothing = h("p", { class: "none", hidden: true });
  const [first] = labels;
  const select = matchMedia("(hover: none)").matches ? "Tap to select" : "Click or press Space to select";
  const named = labels.join(", ");

  const button = (/** @type {string} */ text, /** @type {string} */ key, /** @type {() => void} */ act, style = "") =>
    h("button", { type: "button", class: style, onclick: act, "aria-keyshortcuts": key }, text, h("kbd", {}, key));

  const showBar = () => {
    const selected = grid.selected.size;
    const all = Math.min(total, MOST);
    fill(
      bar,
      selected
        ? h("span", { class: "choice-count" }, `${count(selected)} selected`)
        : h("span", { class: "choice-count choice-hint" }, select),
      button(`${verbs.accept} ${labels.length === 1 ? first : "all"}`, "A", () => decide("accept"), "primary"),
      labels.length === 1 && button(verbs.reject, "R", () => decide("reject")),
      selected > 1 &&
        selected <= MOST_TOGETHER &&
        h(
          "button",
          { type: "button", onclick: () => (location.hash = togetherAddress([...grid.selected])) },
          "Label together",
        ),
      all > 0 && selected < all
        ? h("button", { type: "button", class: "quiet", onclick: selectAll }, `Select ${count(all)}`)
        : null,
      selected ? button("Clear", "Esc", () => grid.clear(), "quiet") : null,
    );
    for (const one of bar.querySelectorAll(".primary, .primary + button"))
      /** @type {HTMLButtonElement} */ (one).disabled = !selected && !grid.element.contains(document.activeElement);
  };

  const show = (/** @type {GridItem[]} */ items) => {
    grid.show(items, labels);
    nothing.hidden = items.length > 0;
    nothing.textContent = none();
    bar.hidden = !items.length;
    moreRow.hidden = items.length >= total;
  };

  const reload = async (/** @type {number} */ wanted = Math.max(PAGE, grid.items.length)) => {
    const page = await load(0, Math.min(wanted, MOST));
    signal.throwIfAborted();
    total = page.total;
    show([...page.images, ...beyond(page.images)]);
    loaded?.(page);
  };

  /** Images after the first ones, which were loaded before and are not loaded again. @param {GridItem[]} images */
  const beyond = (images) => {
    const here = new Set(images.map((item) => item.image));
    return images.length < MOST ? [] : grid.items.slice(MOST).filter((item) => !here.has(item.image));
  };

  const loadMore = async () => {
    if (loading || grid.items.length >= total) return;
    loading = true;
    await orToast(async () => {
      const page = await load(grid.items.length, PAGE);
      signal.throwIfAborted();
      const here = new Set(grid.items.map((item) => item.image));
      const added = page.images.filter((item) => !here.has(item.image));
      if (!added.length) total = grid.items.length;
      show([...grid.items, ...added]);
    });
    loading = false;
  };

  const selectAll = () =>
    orToast(async () => {
      await reload(MOST);
      grid.selectAll();
      announce(`${countOf(grid.selected.size, "image")} selected.`);
    });

  /** @param {"accept" | "reject"} verdict */
  const decide = (verdict) => {
    const chosen = grid.chosen();
    if (verdict === "reject" && labels.length > 1) return;
    if (!chosen.length) {
      if (grid.items.length && !grid.element.contains(document.activeElement)) notice(`${select}; Ctrl+A selects all.`);
      return;
    }
    const events = chosen.flatMap(({ image, confidence = null }) =>
      labels.map((label) => ({ image, label, verdict, ...(suggested && labels.length === 1 && { confidence }) })),
    );
    const address = location.hash;
    const what = chosen.length === 1 ? chosen[0].image : countOf(chosen.length, "image");
    grid.remove(chosen.map((item) => item.image));
    enqueue(() =>
      orToast(async () => {
        try {
          const { batch } = await postChange("feedback/batch", { events, source: "page" });
          if (batch !== null) remember({ batch, text: `${verdict} ${named} for ${what}`, address });
          announce(`${verdict === "accept" ? "Accepted" : "Rejected"} ${named} for ${what}.`);
        } finally {
          // Also after an error: then they are back.
          if (!signal.aborted) await reload();
        }
      }),
    );
  };

  const key = (/** @type {"accept" | "reject"} */ verdict) => () => decide(verdict);
  shortcuts(
    {
      a: key("accept"),
      A: key("accept"),
      r: key("reject"),
      R: key("reject"),
      "Ctrl+a": () => {
        grid.selectAll();
        grid.focus();
      },
      x: key("reject"),
      u: () => undo(() => orToast(() => reload())),
      ArrowDown: () => document.activeElement === document.body && grid.focus(),
      ArrowRight: () => document.activeElement === document.body && grid.focus(),
    },
    signal,
  );
  grid.element.addEventListener("focusin", showBar);
  grid.element.addEventListener("focusout", () => queueMicrotask(showBar));
  // The pointer takes the focus away from the grid before a click; then nothing would be chosen.
  bar.addEventListener("pointerdown", (event) => event.preventDefault());

  await reload(PAGE);
  fill(host, nothing, grid.element, moreRow, bar);
  showBar();
  const observer = new IntersectionObserver((entries) => entries.some((one) => one.isIntersecting) && loadMore(), {
    rootMargin: "600px",
  });
  observer.observe(moreRow);
  signal.addEventListener("abort", () => observer.disconnect());
  return { reload: () => reload() };
}

