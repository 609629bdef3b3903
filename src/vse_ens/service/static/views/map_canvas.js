/** The canvas of the map: pan, zoom and click by mouse, touch and keyboard. */

import { announce } from "../core/announcer.js";
import { h, prefersReducedMotion } from "../core/dom.js";
import { WHOLE, between, panned, toScreen, zoomed } from "./map_camera.js";
import { dotsOf } from "./map_dots.js";
import { Drawing } from "./map_drawing.js";

/** @typedef {{label: string, x: number, y: number, images: number}} Place */
/** @typedef {import("./map_camera.js").Camera} Camera */

const FLIGHT = 700;
const CLOSE = 5;
const STEP = 70;
const HIT_RADIUS = 16;
const CLICK_TOLERANCE = 5;

export class MapCanvas {
  /**
   * @param {Place[]} places
   * @param {(label: string) => void} open
   * @param {AbortSignal} signal
   */
  constructor(places, open, signal) {
    /** Most frequent first: their names take precedence. */
    this.places = [...places].sort((one, other) => other.images - one.images);
    this.open = open;
    /** @type {Camera} */
    this.camera = WHOLE;
    this.size = { width: 1, height: 1 };
    /** @type {Place | null} the label under the pointer, or in the center while keys are used */
    this.marked = null;
    this.frame = 0;
    this.flight = 0;
    /** @type {Map<number, {x: number, y: number}>} pressed pointers by id */
    this.down = new Map();
    this.moved = 0;
    /** @type {import("./map_names.js").Name[]} */
    this.names = [];
    this.element = /** @type {HTMLCanvasElement} */ (
      h("canvas", {
        class: "map-canvas",
        tabindex: 0,
        role: "application",
        "aria-label":
          "Map of labels. Arrow keys move, plus and minus zoom, 0 shows all, Enter browses the label in the center.",
      })
    );
    this.drawing = new Drawing(this.element);
    this.listen(signal);
  }

  /** @param {AbortSignal} signal */
  listen(signal) {
    const { element } = this;
    const options = { signal };
    const watcher = new ResizeObserver(() => this.fit());
    watcher.observe(element);
    signal.addEventListener("abort", () => {
      watcher.disconnect();
      cancelAnimationFrame(this.frame);
      cancelAnimationFrame(this.flight);
    });
    document.addEventListener("themechange", () => this.redraw(), options);
    element.addEventListener("pointerdown", (event) => this.press(event), options);
    element.addEventListener("pointermove", (event) => this.drag(event), options);
    element.addEventListener("pointerup", (event) => this.release(event), options);
    element.addEventListener("pointercancel", (event) => this.down.delete(event.pointerId), options);
    element.addEventListener("pointerleave", () => this.mark(null), options);
    element.addEventListener("wheel", (event) => this.roll(event), { signal, passive: false });
    element.addEventListener("keydown", (event) => this.key(event), options);
    element.addEventListener("focus", () => element.matches(":focus-visible") && this.markMiddle(), options);
    element.addEventListener("blur", () => this.mark(null), options);
  }

  /** Adopt the size of the element. */
  fit() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    this.size = { width, height };
    this.element.width = Math.round(width * devicePixelRatio);
    this.element.height = Math.round(height * devicePixelRatio);
    this.redraw();
  }

  /** @param {string} label @returns {boolean} whether it is on the map */
  flyTo(label) {
    const place = this.places.find((one) => one.label === label);
    if (!place) return false;
    this.fly({ x: place.x, y: place.y, zoom: Math.max(CLOSE, this.camera.zoom) });
    this.mark(place);
    return true;
  }

  showAll() {
    this.fly(WHOLE);
  }

  /** @param {number} factor */
  zoom(factor) {
    this.fly(zoomed(this.camera, this.size, this.middle(), factor), FLIGHT / 3);
  }

  /** @param {Camera} target @param {number} [time] */
  fly(target, time = FLIGHT) {
    cancelAnimationFrame(this.flight);
    if (prefersReducedMotion()) {
      this.setCamera(target);
      return;
    }
    const from = this.camera;
    const start = performance.now();
    const step = (/** @type {number} */ now) => {
      const share = Math.min(1, Math.max(0, now - start) / time);
      this.setCamera(between(from, target, share));
      if (share < 1) this.flight = requestAnimationFrame(step);
    };
    this.flight = requestAnimationFrame(step);
  }

  /** @param {Camera} camera */
  setCamera(camera) {
    this.camera = camera;
    this.redraw();
  }

  /** @param {Place | null} place */
  mark(place) {
    if (this.marked === place) return;
    this.marked = place;
    this.element.classList.toggle("on-label", Boolean(place));
    this.redraw();
  }

  markMiddle() {
    const place = this.nearest(this.middle(), Infinity);
    if (place && place !== this.marked) announce(place.label);
    this.mark(place);
  }

  /** Return the label at a pixel: by its name, or the nearest dot. @param {{x: number, y: number}} pixel */
  at(pixel) {
    const name = this.names.find(
      ({ left, top, width, height }) =>
        pixel.x >= left && pixel.x <= left + width && pixel.y >= top && pixel.y <= top + height,
    );
    if (!name) return this.nearest(pixel, HIT_RADIUS);
    return this.places.find((place) => place.label === name.dot.label) ?? null;
  }

  /** @param {{x: number, y: number}} pixel @param {number} radius */
  nearest(pixel, radius) {
    let best = null;
    let closest = radius;
    for (const place of this.places) {
      const spot = toScreen(this.camera, this.size, place);
      const distance = Math.hypot(spot.x - pixel.x, spot.y - pixel.y);
      if (distance < closest) [best, closest] = [place, distance];
    }
    return best;
  }

  /** @param {PointerEvent} event */
  press(event) {
    cancelAnimationFrame(this.flight);
    this.element.setPointerCapture(event.pointerId);
    if (!this.down.size) this.moved = 0;
    this.down.set(event.pointerId, pixelOf(event));
    if (this.down.size > 1) this.moved = Infinity;
  }

  /** @param {PointerEvent} event */
  drag(event) {
    const now = pixelOf(event);
    const before = this.down.get(event.pointerId);
    if (!before) {
      this.mark(this.at(now));
      return;
    }
    this.moved += Math.hypot(now.x - before.x, now.y - before.y);
    const other = [...this.down].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      // Two fingers: the point between them stays there.
      const factor = distance(now, other) / Math.max(1, distance(before, other));
      const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
      const shifted = panned(this.camera, this.size, (before.x - now.x) / 2, (before.y - now.y) / 2);
      this.setCamera(zoomed(shifted, this.size, middle, factor));
    } else if (this.moved > CLICK_TOLERANCE) {
      this.setCamera(panned(this.camera, this.size, before.x - now.x, before.y - now.y));
      this.mark(null);
    }
    this.down.set(event.pointerId, now);
  }

  /** @param {PointerEvent} event */
  release(event) {
    const wasDown = this.down.delete(event.pointerId);
    if (!wasDown || this.moved > CLICK_TOLERANCE || event.button > 0) return;
    const place = this.at(pixelOf(event));
    if (place) this.open(place.label);
  }

  /** @param {WheelEvent} event */
  roll(event) {
    event.preventDefault();
    cancelAnimationFrame(this.flight);
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    this.setCamera(zoomed(this.camera, this.size, pixelOf(event), Math.exp(-event.deltaY * lines * 0.0022)));
  }

  /**
   * Move, zoom or open by key.
   * @param {KeyboardEvent} event
   * @returns {boolean} whether the key means something here
   */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const pan = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[event.key];
    if (pan) this.setCamera(panned(this.camera, this.size, pan[0], pan[1]));
    else if (event.key === "+" || event.key === "=") this.setCamera(zoomed(this.camera, this.size, this.middle(), 1.4));
    else if (event.key === "-") this.setCamera(zoomed(this.camera, this.size, this.middle(), 1 / 1.4));
    else if (event.key === "0") this.setCamera(WHOLE);
    else if (event.key === "Enter" && this.marked) this.open(this.marked.label);
    else return false;
    event.preventDefault();
    if (event.key !== "Enter") this.markMiddle();
    return true;
  }

  middle() {
    return { x: this.size.width / 2, y: this.size.height / 2 };
  }

  redraw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.names = this.drawing.draw(dotsOf(this.places, this.camera, this.size), this.size, this.markedDot());
  }

  /** The marked label as a dot, even outside the window. */
  markedDot() {
    return this.marked && { ...this.marked, ...toScreen(this.camera, this.size, this.marked) };
  }
}

/** @param {MouseEvent} event */
const pixelOf = (event) => ({ x: event.offsetX, y: event.offsetY });

/** @param {{x: number, y: number}} one @param {{x: number, y: number}} other */
const distance = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);
