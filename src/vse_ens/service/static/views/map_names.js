/** Placement of names without overlap, most frequent first. */

/** @typedef {import("./map_dots.js").Dot} Dot */
/** @typedef {{dot: Dot, left: number, top: number, width: number, height: number}} Name */

const GAP = 4;
const CELL = 48;

/**
 * @param {Dot[]} dots the most frequent first
 * @param {(dot: Dot) => number} widthOf a name's width in pixels
 * @param {number} right width of the window: a name that would be cut off moves to the other side of its dot
 * @returns {Name[]}
 */
export function placeNames(dots, widthOf, right) {
  const occupied = new Occupied();
  /** @type {Name[]} */
  const names = [];
  for (const dot of dots) {
    const width = widthOf(dot);
    const height = dot.size * 1.2;
    const whole = (/** @type {number} */ left) => left >= 0 && left + width <= right;
    const spot = spots(dot, width, height).find(
      ([left, top]) => whole(left) && occupied.isFree(left, top, width, height),
    );
    if (!spot) continue;
    const name = { dot, left: spot[0], top: spot[1], width, height };
    occupied.add(name);
    names.push(name);
  }
  return names;
}

/**
 * Right of the dot, left, below, above.
 * @param {Dot} dot
 * @param {number} width
 * @param {number} height
 * @returns {[number, number][]}
 */
const spots = ({ x, y, radius }, width, height) => [
  [x + radius + GAP, y - height / 2],
  [x - radius - GAP - width, y - height / 2],
  [x - width / 2, y + radius + 1],
  [x - width / 2, y - radius - 1 - height],
];

/** Occupied boxes by grid cell, so that a box is compared with its neighbors only. */
class Occupied {
  constructor() {
    /** @type {Map<string, {left: number, top: number, width: number, height: number}[]>} */
    this.cells = new Map();
  }

  /** @param {number} left @param {number} top @param {number} width @param {number} height */
  isFree(left, top, width, height) {
    return cellsOf(left, top, width, height).every((cell) =>
      (this.cells.get(cell) ?? []).every(
        (box) =>
          left + width + GAP < box.left ||
          box.left + box.width + GAP < left ||
          top + height < box.top ||
          box.top + box.height < top,
      ),
    );
  }

  /** @param {{left: number, top: number, width: number, height: number}} box */
  add(box) {
    for (const cell of cellsOf(box.left, box.top, box.width, box.height)) {
      const there = this.cells.get(cell);
      if (there) there.push(box);
      else this.cells.set(cell, [box]);
    }
  }
}

/** @param {number} left @param {number} top @param {number} width @param {number} height */
function cellsOf(left, top, width, height) {
  const cells = [];
  for (let column = Math.floor((left - GAP) / CELL); column * CELL <= left + width + GAP; column += 1)
    for (let row = Math.floor(top / CELL); row * CELL <= top + height; row += 1) cells.push(`${column},${row}`);
  return cells;
}
