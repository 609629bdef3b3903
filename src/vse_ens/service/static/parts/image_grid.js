/** A grid of images to select from: by click, or by keys (a listbox with several selected options). */

import { h, uniqueId } from "../core/dom.js";
import { percent } from "../core/format.js";
import { Seen } from "../core/seen.js";
import { icon } from "./icon.js";
import { picture } from "./picture.js";

const TAGS = 6;

/**
 * @typedef {object} GridItem
 * @property {string} image
 * @property {string[]} labels
 * @property {number | null} [confidence]
 * @property {string | null} [url] address of its picture
 */

export class ImageGrid {
  /**
   * @param {object} shape
   * @param {string} shape.label accessible name
   * @param {(image: string) => void} shape.open
   * @param {() => void} shape.changed called after the selection has changed
   */
  constructor({ label, open, changed }) {
    this.open = open;
    this.changed = changed;
    this.element = h("ul", {
      class: "cards choices",
      role: "listbox",
      "aria-label": label,
      "aria-multiselectable": "true",
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.onKey(event),
      onclick: (/** @type {MouseEvent} */ event) => this.onClick(event),
      ondblclick: (/** @type {MouseEvent} */ event) => {
        const image = this.imageAt(event);
        if (image !== undefined) this.open(image);
      },
    });
    /** @type {GridItem[]} */
    this.items = [];
    /** @type {Map<string, HTMLElement>} */
    this.cards = new Map();
    /** Selected images. @type {Set<string>} */
    this.selected = new Set();
    this.current = 0;
    /** The image that Shift extends from. @type {string | null} */
    this.anchor = null;
    this.seen = new Seen();
  }

  /**
   * Show images; cards of images that were there before stay, so that their pictures do not flicker.
   * @param {GridItem[]} items
   * @param {string[]} [marked] labels to highlight
   */
  show(items, marked = []) {
    const focused = this.element.contains(document.activeElement) ? this.items[this.current]?.image : undefined;
    this.items = items;
    const before = this.cards;
    this.cards = new Map(items.map((item) => [item.image, before.get(item.image) ?? this.card(item, marked)]));
    for (const item of items) this.update(item);
    this.selected = new Set([...this.selected].filter((image) => this.cards.has(image)));
    // An image that stays keeps its element, its picture and its focus.
    let at = this.element.firstElementChild;
    for (const card of this.cards.values()) {
      if (at === card) at = at.nextElementSibling;
      else this.element.insertBefore(card, at);
    }
    while (at) {
      const next = at.nextElementSibling;
      at.remove();
      at = next;
    }
    this.seen.show([...this.cards.keys()], []);
    const place = focused === undefined ? -1 : items.findIndex((item) => item.image === focused);
    this.makeCurrent(place >= 0 ? place : this.current);
    if (focused !== undefined && !this.element.contains(document.activeElement)) this.focus();
    this.mark();
  }

  /** Take images away at once; the focus goes to the next one. @param {Iterable<string>} images */
  remove(images) {
    const gone = new Set(images);
    const before = this.items.slice(0, this.current).filter((item) => !gone.has(item.image)).length;
    const focused = this.element.contains(document.activeElement);
    for (const image of gone) {
      this.cards.get(image)?.remove();
      this.cards.delete(image);
      this.selected.delete(image);
    }
    this.items = this.items.filter((item) => !gone.has(item.image));
    this.makeCurrent(before);
    if (focused) this.focus();
    this.mark();
  }

  clear() {
    this.selected.clear();
    this.mark();
  }

  selectAll() {
    this.selected = new Set(this.items.map((item) => item.image));
    this.mark();
  }

  focus(index = this.current) {
    this.makeCurrent(index);
    this.element.querySelector("[tabindex='0']")?.scrollIntoView({ block: "nearest" });
    /** @type {HTMLElement | null} */ (this.element.querySelector("[tabindex='0']"))?.focus({ preventScroll: true });
  }

  /** What a verdict is about: the selected images, or else the focused one, if it was seen. @returns {GridItem[]} */
  chosen() {
    if (this.selected.size) return this.items.filter((item) => this.selected.has(item.image));
    const item = this.items[this.current];
    const focused = this.element.contains(document.activeElement);
    return item && focused && this.seen.has(item.image) ? [item] : [];
  }

  /** @param {number} index */
  makeCurrent(index) {
    this.current = Math.max(0, Math.min(index, this.items.length - 1));
    for (const [number, card] of [...this.cards.values()].entries()) card.tabIndex = number === this.current ? 0 : -1;
  }

  mark() {
    for (const [image, card] of this.cards) card.setAttribute("aria-selected", String(this.selected.has(image)));
    this.element.classList.toggle("selecting", this.selected.size > 0);
    this.changed();
  }

  /** Select everything between the anchor and an image. @param {number} index */
  extend(index) {
    const from = this.items.findIndex((item) => item.image === this.anchor);
    const [low, high] = [Math.min(from < 0 ? index : from, index), Math.max(from, index)];
    for (const item of this.items.slice(low, high + 1)) this.selected.add(item.image);
    this.mark();
  }

  /** @param {number} index */
  toggle(index) {
    const { image } = this.items[index];
    if (!this.selected.delete(image)) this.selected.add(image);
    this.anchor = image;
    this.mark();
  }

  /** @param {Event} event */
  imageAt(event) {
    const card = /** @type {Element} */ (event.target).closest("[role=option]");
    return /** @type {HTMLElement | null} */ (card)?.dataset.image;
  }

  /** @param {MouseEvent} event */
  onClick(event) {
    const image = this.imageAt(event);
    const index = this.items.findIndex((item) => item.image === image);
    if (index < 0 || event.detail > 1) return;
    if (/** @type {Element} */ (event.target).closest(".choice-open")) return this.open(this.items[index].image);
    this.makeCurrent(index);
    if (event.shiftKey && this.anchor !== null) this.extend(index);
    else this.toggle(index);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (!this.items.length || event.altKey) return;
    const command = event.ctrlKey || event.metaKey;
    const target = moved(event.key, this.current, this.items.length, this.columns());
    if (target !== null && !command) {
      if (event.shiftKey) this.anchor ??= this.items[this.current].image;
      this.focus(target);
      if (event.shiftKey) this.extend(target);
      else this.anchor = null;
    } else if (event.key === " " && !command) {
      if (!event.repeat) this.toggle(this.current);
    } else if (event.key === "Enter" && !command) {
      if (!event.repeat) this.open(this.items[this.current].image);
    } else if (event.key === "Escape" && this.selected.size) this.clear();
    else if (event.key.toLowerCase() === "a" && command) this.selectAll();
    else return;
    event.preventDefault();
  }

  /** The number of cards in a row. */
  columns() {
    const cards = [...this.cards.values()];
    const count = cards.findIndex((card) => card.offsetTop > cards[0].offsetTop);
    return count < 0 ? cards.length : count;
  }

  /** @param {GridItem} item @param {string[]} marked */
  card({ image, labels, confidence, url }, marked) {
    const order = [...labels].sort((one, other) => Number(marked.includes(other)) - Number(marked.includes(one)));
    const rest = order.length - TAGS;
    const shown = picture(url, image);
    shown?.querySelector("img")?.setAttribute("alt", "");
    const id = uniqueId("choice");
    const made = h(
      "li",
      { class: "card choice", role: "option", tabindex: -1, "aria-selected": "false", "aria-labelledby": id },
      shown,
      h("span", { class: "choice-mark" }, icon("check")),
      h("span", { class: "choice-open", title: "Open the image (Enter)" }, icon("forth")),
      h(
        "div",
        { class: "card-body" },
        h(
          "div",
          { class: "card-head", id },
          h("span", { class: "card-link id", title: image }, image),
          " ",
          h("span", { class: "card-share" }),
        ),
        h("span", { class: "meter", "aria-hidden": "true" }),
        h(
          "div",
          { class: "tags" },
          ...order.slice(0, TAGS).map((label) => h("span", { class: marked.includes(label) && "marked" }, label)),
          rest > 0 && h("span", { class: "more" }, `and ${rest} more`),
        ),
      ),
    );
    made.dataset.image = image;
    return made;
  }

  /** Show the confidence of now. @param {GridItem} item */
  update({ image, confidence }) {
    const card = /** @type {HTMLElement} */ (this.cards.get(image));
    const share = card.querySelector(".card-share");
    if (share) share.textContent = percent(confidence);
    const meter = /** @type {HTMLElement} */ (card.querySelector(".meter"));
    meter.hidden = confidence === null || confidence === undefined;
    meter.style.setProperty("--share", String(confidence ?? 0));
  }
}

/**
 * The place that a key leads to, or null for another key.
 * @param {string} key @param {number} from @param {number} count @param {number} columns
 */
function moved(key, from, count, columns) {
  const steps = /** @type {Record<string, number>} */ ({
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -columns,
    ArrowDown: columns,
    PageUp: -3 * columns,
    PageDown: 3 * columns,
    Home: -count,
    End: count,
  });
  const step = steps[key];
  return step === undefined ? null : Math.max(0, Math.min(from + step, count - 1));
}
