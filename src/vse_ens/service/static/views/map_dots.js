/** Labels as dots: size and font size grow with the number of images. */

import { toScreen } from "./map_camera.js";

/** @typedef {{label: string, x: number, y: number, radius: number, size: number}} Dot  `size` is the font size */

const LARGEST = 14;
/** Margin outside the window: a name may extend into it. */
const MARGIN = 40;

/**
 * Return the dots in the window, in the order of the places.
 * @param {import("./map_canvas.js").Place[]} places the most frequent first
 * @param {import("./map_camera.js").Camera} camera
 * @param {import("./map_camera.js").Size} size
 * @returns {Dot[]}
 */
export function dotsOf(places, camera, size) {
  const most = Math.max(1, places[0]?.images ?? 1);
  const closeness = camera.zoom ** 0.25;
  const dots = [];
  for (const place of places) {
    const { x, y } = toScreen(camera, size, place);
    if (x < -MARGIN || y < -MARGIN || x > size.width + MARGIN || y > size.height + MARGIN) continue;
    const weight = Math.sqrt(place.images / most);
    const radius = Math.min(LARGEST, (1.6 + 7 * weight) * closeness);
    dots.push({ label: place.label, x, y, radius, size: Math.round(11 + 9 * weight) });
  }
  return dots;
}
