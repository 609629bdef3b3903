/** Which image comes next: those of the list one came from, and after them images picked at random. */

import { ask, get } from "./api.js";

/** Images taken from one random question before another is asked. */
const A_FEW = 4;

/** @type {string[]} */
let row = [];
/** The image that was looked at last. @type {string | null} */
let last = null;
/** How many of the row were found together; those behind them came at random. */
let listed = 0;
/** @type {string[]} */
let pool = [];
/** @type {string[] | null} */
let commonLabels = null;

/**
 * The images that `next` and `previous` lead through.
 * @param {string[]} images
 */
export function walkThrough(images) {
  row = [...images];
  listed = row.length;
}

/**
 * Where an image stands in the list it was found in; an image that is in no list begins a row of its own.
 * @param {string} image
 * @returns {string} "3 of 24", or nothing
 */
export function standing(image) {
  last = image;
  if (!row.includes(image)) {
    row = [image];
    listed = 0;
  }
  const place = row.indexOf(image);
  return place < listed ? `${place + 1} of ${listed}` : "";
}

/** Where one was, or else a random image: a way in that asks nothing. @param {AbortSignal} [signal] */
export const lastOrRandom = async (signal) => last ?? (await randomImage([], signal));

/**
 * The image before, or none.
 * @param {string} image
 * @returns {string | undefined}
 */
export const before = (image) => row[row.indexOf(image) - 1];

/**
 * The image after; at the end of the row a random one joins it.
 * @param {string} image
 * @param {AbortSignal} [signal]
 */
export async function after(image, signal) {
  const place = row.indexOf(image);
  if (place + 1 === row.length) row.push(await randomImage(row, signal));
  return row[place + 1];
}

/**
 * A random image to come after this one, so that there is a way back.
 * @param {string | null} image
 * @param {AbortSignal} [signal]
 */
export async function afterAtRandom(image, signal) {
  const other = await randomImage(row, signal);
  row = [...row.slice(0, image === null ? 0 : row.indexOf(image) + 1), other];
  listed = 0;
  return other;
}

/**
 * Any image, if possible none of those given. The service lists images by how they begin only, so a random label is
 * asked for its images.
 * @param {string[]} others
 * @param {AbortSignal} [signal]
 * @returns {Promise<string>}
 */
async function randomImage(others, signal) {
  if (!pool.length) pool = shuffled(await someImages(signal)).slice(0, A_FEW);
  const place = Math.max(
    0,
    pool.findIndex((image) => !others.includes(image)),
  );
  return pool.splice(place, 1)[0];
}

/** @param {AbortSignal} [signal] @returns {Promise<string[]>} */
async function someImages(signal) {
  commonLabels ??= (await get("labels", { prefix: "", limit: 100 }, signal)).labels.map(
    (/** @type {{label: string}} */ one) => one.label,
  );
  const [label] = shuffled(commonLabels ?? []);
  const found = label ? (await ask("search", { labels: [label], top: 100, tagged: true }, signal)).images : [];
  if (found.length) return found.map((/** @type {{image: string}} */ one) => one.image);
  return (await get("images", { prefix: "", limit: 100 }, signal)).images;
}

/** @template T @param {T[]} things @returns {T[]} */
function shuffled(things) {
  const mixed = [...things];
  for (let last = mixed.length - 1; last > 0; last -= 1) {
    const other = Math.floor(Math.random() * (last + 1));
    [mixed[last], mixed[other]] = [mixed[other], mixed[last]];
  }
  return mixed;
}
