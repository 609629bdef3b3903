/** The camera of the map: computations only, no drawing. Map coordinates are between 0 and 1. */

/** @typedef {{x: number, y: number, zoom: number}} Camera  the point in the center and the zoom factor */
/** @typedef {{width: number, height: number}} Size */
/** @typedef {{x: number, y: number}} Point */

/** Fraction of the window that the whole map fills; names at the edge need space. */
const FILLED = 0.84;
const CLOSEST = 60;
const FARTHEST = 0.8;

/** @type {Camera} */
export const WHOLE = { x: 0.5, y: 0.5, zoom: 1 };

/** @param {Camera} camera @param {Size} size @param {Point} place @returns {Point} */
export const toScreen = (camera, size, place) => ({
  x: size.width / 2 + (place.x - camera.x) * size.width * FILLED * camera.zoom,
  y: size.height / 2 + (place.y - camera.y) * size.height * FILLED * camera.zoom,
});

/** @param {Camera} camera @param {Size} size @param {Point} pixel @returns {Point} */
export const toMap = (camera, size, pixel) => ({
  x: camera.x + (pixel.x - size.width / 2) / (size.width * FILLED * camera.zoom),
  y: camera.y + (pixel.y - size.height / 2) / (size.height * FILLED * camera.zoom),
});

/**
 * Pan by pixels, within the map.
 * @param {Camera} camera @param {Size} size @param {number} right @param {number} down
 * @returns {Camera}
 */
export const panned = (camera, size, right, down) => ({
  ...camera,
  x: within(camera.x + right / (size.width * FILLED * camera.zoom), 0, 1),
  y: within(camera.y + down / (size.height * FILLED * camera.zoom), 0, 1),
});

/**
 * Zoom by a factor; the point under a pixel stays there.
 * @param {Camera} camera @param {Size} size @param {Point} pixel @param {number} factor
 * @returns {Camera}
 */
export function zoomed(camera, size, pixel, factor) {
  const zoom = within(camera.zoom * factor, FARTHEST, CLOSEST);
  const fixed = toMap(camera, size, pixel);
  const after = toMap({ ...camera, zoom }, size, pixel);
  return { zoom, x: within(camera.x + fixed.x - after.x, 0, 1), y: within(camera.y + fixed.y - after.y, 0, 1) };
}

/**
 * Interpolate between two cameras; the zoom changes exponentially.
 * @param {Camera} from @param {Camera} to @param {number} share from 0 to 1
 * @returns {Camera}
 */
export function between(from, to, share) {
  const eased = share < 0.5 ? 2 * share * share : 1 - 2 * (1 - share) ** 2;
  return {
    x: from.x + (to.x - from.x) * eased,
    y: from.y + (to.y - from.y) * eased,
    zoom: from.zoom * (to.zoom / from.zoom) ** eased,
  };
}

/** @param {number} value @param {number} low @param {number} high */
const within = (value, low, high) => Math.min(high, Math.max(low, value));
