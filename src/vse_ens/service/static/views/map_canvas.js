/** The map itself: a canvas to pan, zoom and click by mouse, touch and keys. */

import { announce } from "../core/announcer.js";
import { h, still } from "../core/dom.js";
import { WHOLE, between, panned, toScreen, zoomed } from "./map_camera.js";
import { placeNames } from "./map_names.js";

/** @typedef {{label: string, x: number, y: number, images: number}} Place */
/** @typedef {import("./map_camera.js").Camera} Camera */

const FLIGHT = 700;
const CLOSE = 5;
const STEP = 70;
const REACH = 16;
const STILL_A_CLICK = 5;
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

export class MapCanvas {
  /**
   * @param {Place[]} places
   * @param {(label: string) => void} open
   * @param {AbortSignal} signal
   */
  constructor(places, open, signal) {
    /** The most frequent first: their names win. */
    this.places = [...places].sort((one, other) => other.images - one.images);
    this.most = Math.max(1, this.places[0]?.images ?? 1);
    this.open = open;
    /** @type {Camera} */
    this.camera = WHOLE;
    this.size = { width: 1, height: 1 };
    /** @type {Place | null} what is pointed at, or in the middle while keys are used */
    this.marked = null;
    this.frame = 0;
    this.flight = 0;
    /** @type {Map<number, {x: number, y: number}>} fingers and buttons that are down */
    this.down = new Map();
    this.moved = 0;
    /** @type {Map<string, number>} */
    this.widths = new Map();
    /** @type {import("./map_names.js").Name[]} */
    this.names = [];
    this.element = /** @type {HTMLCanvasElement} */ (
      h("canvas", {
        class: "map-canvas",
        tabindex: 0,
        role: "application",
        "aria-label": "Map of labels. Arrow keys move, plus and minus zoom, 0 shows all, Enter browses the label in the middle.",
      })
    );
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

  /** Take the size that the page gives. */
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

  whole() {
    this.fly(WHOLE);
  }

  /** @param {number} factor */
  zoom(factor) {
    this.fly(zoomed(this.camera, this.size, { x: this.size.width / 2, y: this.size.height / 2 }, factor), FLIGHT / 3);
  }

  /** @param {Camera} target @param {number} [time] */
  fly(target, time = FLIGHT) {
    cancelAnimationFrame(this.flight);
    if (still()) {
      this.look(target);
      return;
    }
    const from = this.camera;
    const start = performance.now();
    const step = (/** @type {number} */ now) => {
      const share = Math.min(1, Math.max(0, now - start) / time);
      this.look(between(from, target, share));
      if (share < 1) this.flight = requestAnimationFrame(step);
    };
    this.flight = requestAnimationFrame(step);
  }

  /** @param {Camera} camera */
  look(camera) {
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
    const place = this.nearest({ x: this.size.width / 2, y: this.size.height / 2 }, Infinity);
    if (place && place !== this.marked) announce(place.label);
    this.mark(place);
  }

  /** The label at a pixel: its name, or the nearest dot in reach. @param {{x: number, y: number}} pixel */
  at(pixel) {
    const name = this.names.find(({ left, top, width, height }) => pixel.x >= left && pixel.x <= left + width && pixel.y >= top && pixel.y <= top + height);
    return name ? this.places.find((place) => place.label === name.dot.label) ?? null : this.nearest(pixel, REACH);
  }

  /** @param {{x: number, y: number}} pixel @param {number} reach */
  nearest(pixel, reach) {
    let best = null;
    let closest = reach;
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
      // Two fingers: what lies between them stays there.
      const factor = distance(now, other) / Math.max(1, distance(before, other));
      const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
      const shifted = panned(this.camera, this.size, (before.x - now.x) / 2, (before.y - now.y) / 2);
      this.look(zoomed(shifted, this.size, middle, factor));
    } else if (this.moved > STILL_A_CLICK) {
      this.look(panned(this.camera, this.size, before.x - now.x, before.y - now.y));
      this.mark(null);
    }
    this.down.set(event.pointerId, now);
  }

  /** @param {PointerEvent} event */
  release(event) {
    const wasDown = this.down.delete(event.pointerId);
    if (!wasDown || this.moved > STILL_A_CLICK || event.button > 0) return;
    const place = this.at(pixelOf(event));
    if (place) this.open(place.label);
  }

  /** @param {WheelEvent} event */
  roll(event) {
    event.preventDefault();
    cancelAnimationFrame(this.flight);
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    this.look(zoomed(this.camera, this.size, pixelOf(event), Math.exp(-event.deltaY * lines * 0.0022)));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const pan = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[event.key];
    if (pan) this.look(panned(this.camera, this.size, pan[0], pan[1]));
    else if (event.key === "+" || event.key === "=") this.look(zoomed(this.camera, this.size, this.middle(), 1.4));
    else if (event.key === "-" || event.key === "−") this.look(zoomed(this.camera, this.size, this.middle(), 1 / 1.4));
    else if (event.key === "0") this.look(WHOLE);
    else if (event.key === "Enter" && this.marked) this.open(this.marked.label);
    else return;
    event.preventDefault();
    if (event.key !== "Enter") this.markMiddle();
  }

  middle() {
    return { x: this.size.width / 2, y: this.size.height / 2 };
  }

  redraw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  draw() {
    const context = this.element.getContext("2d");
    if (!context) return;
    const { width, height } = this.size;
    const colours = coloursOf(this.element);
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, width, height);
    const dots = this.dots();
    context.fillStyle = colours.accent;
    for (const dot of dots) {
      context.globalAlpha = 0.28 + (0.5 * dot.radius) / 12;
      circle(context, dot, dot.radius);
    }
    context.globalAlpha = 1;
    context.textBaseline = "middle";
    context.lineJoin = "round";
    this.names = placeNames(dots, (dot) => this.widthOf(context, dot), width);
    for (const { dot, left, top, height: tall } of this.names) {
      if (dot.label === this.marked?.label) continue;
      context.font = fontOf(dot.size);
      context.strokeStyle = colours.paper;
      context.lineWidth = 3;
      context.strokeText(dot.label, left, top + tall / 2);
      context.fillStyle = dot.size >= 14 ? colours.ink : colours.soft;
      context.fillText(dot.label, left, top + tall / 2);
    }
    if (this.marked) this.drawMarked(context, this.marked, colours);
  }

  /** What is on the screen, the most frequent first. */
  dots() {
    const { width, height } = this.size;
    const closeness = this.camera.zoom ** 0.25;
    const shown = [];
    for (const place of this.places) {
      const { x, y } = toScreen(this.camera, this.size, place);
      if (x < -40 || y < -20 || x > width + 40 || y > height + 20) continue;
      const weight = Math.sqrt(place.images / this.most);
      shown.push({ label: place.label, x, y, radius: Math.min(14, (1.6 + 7 * weight) * closeness), size: Math.round(11 + 9 * weight) });
    }
    return shown;
  }

  /** @param {CanvasRenderingContext2D} context @param {Place} place @param {Colours} colours */
  drawMarked(context, place, colours) {
    const spot = toScreen(this.camera, this.size, place);
    const text = `${place.label}  ${place.images.toLocaleString("en-GB")}`;
    context.font = fontOf(15);
    const wide = context.measureText(text).width + 20;
    const left = Math.min(Math.max(spot.x - wide / 2, 6), this.size.width - wide - 6);
    const top = spot.y > 52 ? spot.y - 46 : spot.y + 18;
    context.fillStyle = colours.accent;
    circle(context, spot, 7);
    context.strokeStyle = colours.paper;
    context.lineWidth = 2;
    context.stroke();
    context.fillStyle = colours.accent;
    context.beginPath();
    context.roundRect(left, top, wide, 30, 15);
    context.fill();
    context.fillStyle = colours.onAccent;
    context.fillText(text, left + 10, top + 16);
  }

  /** @param {CanvasRenderingContext2D} context @param {{label: string, size: number}} dot */
  widthOf(context, dot) {
    const key = `${dot.size} ${dot.label}`;
    let width = this.widths.get(key);
    if (width === undefined) {
      context.font = fontOf(dot.size);
      width = context.measureText(dot.label).width;
      this.widths.set(key, width);
    }
    return width;
  }
}

/** @typedef {{ink: string, soft: string, paper: string, accent: string, onAccent: string}} Colours */

/** A canvas cannot read variables, so the style sheet puts the theme's colours into properties of it that nothing else uses. @param {Element} element @returns {Colours} */
function coloursOf(element) {
  const style = getComputedStyle(element);
  return { ink: style.color, soft: style.textDecorationColor, paper: style.backgroundColor, accent: style.caretColor, onAccent: style.columnRuleColor };
}

/** @param {number} size */
const fontOf = (size) => `${size >= 15 ? 600 : 400} ${size}px ${FONT}`;

/** @param {CanvasRenderingContext2D} context @param {{x: number, y: number}} middle @param {number} radius */
function circle(context, middle, radius) {
  context.beginPath();
  context.arc(middle.x, middle.y, radius, 0, 2 * Math.PI);
  context.fill();
}

/** @param {MouseEvent} event */
const pixelOf = (event) => ({ x: event.offsetX, y: event.offsetY });

/** @param {{x: number, y: number}} one @param {{x: number, y: number}} other */
const distance = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);
