/** Draws dots, names and the marked label in the colors of the theme. */

import { count } from "../core/format.js";
import { placeNames } from "./map_names.js";

/** @typedef {import("./map_dots.js").Dot} Dot */
/** @typedef {import("./map_names.js").Name} Name */
/** @typedef {{ink: string, soft: string, paper: string, accent: string, onAccent: string}} Colors */

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
/** Font size from which a name is bold and dark. */
const PROMINENT = 15;

export class Drawing {
  /** @param {HTMLCanvasElement} element */
  constructor(element) {
    this.element = element;
    this.context = /** @type {CanvasRenderingContext2D} */ (element.getContext("2d"));
    /** Cached text widths. @type {Map<string, number>} */
    this.widths = new Map();
  }

  /**
   * @param {Dot[]} dots the most frequent first
   * @param {import("./map_camera.js").Size} size
   * @param {{label: string, images: number, x: number, y: number} | null} marked
   * @returns {Name[]} the names drawn
   */
  draw(dots, size, marked) {
    const { context } = this;
    const colors = colorsOf(this.element);
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    context.textBaseline = "middle";
    context.lineJoin = "round";
    const names = placeNames(dots, (dot) => this.widthOf(dot), size.width);
    this.drawDots(dots, colors);
    this.drawNames(
      names.filter((name) => name.dot.label !== marked?.label),
      colors,
    );
    if (marked) this.drawMarked(marked, size, colors);
    return names;
  }

  /** @param {Dot[]} dots @param {Colors} colors */
  drawDots(dots, colors) {
    this.context.fillStyle = colors.accent;
    for (const dot of dots) {
      this.context.globalAlpha = 0.28 + (0.5 * dot.radius) / 12;
      this.circle(dot, dot.radius);
    }
    this.context.globalAlpha = 1;
  }

  /** @param {Name[]} names @param {Colors} colors */
  drawNames(names, colors) {
    const { context } = this;
    context.strokeStyle = colors.paper;
    context.lineWidth = 3;
    for (const { dot, left, top, height } of names) {
      context.font = fontOf(dot.size);
      context.strokeText(dot.label, left, top + height / 2);
      context.fillStyle = dot.size >= PROMINENT ? colors.ink : colors.soft;
      context.fillText(dot.label, left, top + height / 2);
    }
  }

  /**
   * @param {{label: string, images: number, x: number, y: number}} marked
   * @param {import("./map_camera.js").Size} size
   * @param {Colors} colors
   */
  drawMarked(marked, size, colors) {
    const { context } = this;
    const text = `${marked.label}  ${count(marked.images)}`;
    context.font = fontOf(PROMINENT);
    const width = context.measureText(text).width + 20;
    const left = Math.min(Math.max(marked.x - width / 2, 6), size.width - width - 6);
    const top = marked.y > 52 ? marked.y - 46 : marked.y + 18;
    context.fillStyle = colors.accent;
    context.strokeStyle = colors.paper;
    context.lineWidth = 2;
    this.circle(marked, 7);
    context.stroke();
    context.beginPath();
    context.roundRect(left, top, width, 30, 15);
    context.fill();
    context.fillStyle = colors.onAccent;
    context.fillText(text, left + 10, top + 16);
  }

  /** @param {{x: number, y: number}} middle @param {number} radius */
  circle(middle, radius) {
    this.context.beginPath();
    this.context.arc(middle.x, middle.y, radius, 0, 2 * Math.PI);
    this.context.fill();
  }

  /** @param {Dot} dot */
  widthOf(dot) {
    const key = `${dot.size} ${dot.label}`;
    let width = this.widths.get(key);
    if (width === undefined) {
      this.context.font = fontOf(dot.size);
      width = this.context.measureText(dot.label).width;
      this.widths.set(key, width);
    }
    return width;
  }
}

/** @param {number} size */
const fontOf = (size) => `${size >= PROMINENT ? 600 : 400} ${size}px ${FONT}`;

/**
 * A canvas cannot read CSS variables, so the style sheet sets the theme's colors in otherwise unused properties.
 * @param {Element} element
 * @returns {Colors}
 */
function colorsOf(element) {
  const style = getComputedStyle(element);
  return {
    ink: style.color,
    soft: style.textDecorationColor,
    paper: style.backgroundColor,
    accent: style.caretColor,
    onAccent: style.columnRuleColor,
  };
}
