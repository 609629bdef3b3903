/** Order of images for "next" and "previous": the current list, then random images. */

import { get, postQuery } from "./api.js";

/** Random images used from one search before the next search. */
const POOL_SIZE = 4;

/** @type {string[]} */
let list = [];
/** The last image shown. @type {string | null} */
let last = null;
/** Length of the original list; images after it are random. */
let listed = 0;
/** @type {string[]} */
let pool = [];
/** @type {string[] | null} */
let commonLabels = null;

/**
 * Set the images that "next" and "previous" go through.
 * @param {string[]} images
 */
export function setImageList(images) {
  list = [...images];
  listed = list.length;
}

/**
 * Return the position of an image in the list; an image outside the list starts a new one.
 * @param {string} image
 * @returns {string} "3 of 24", or an empty string
 */
export function positionInList(image) {
  last = image;
  if (!list.includes(image)) {
    list = [image];
    listed = 0;
  }
  const index = list.indexOf(image);
  return index < listed ? `${index + 1} of ${listed}` : "";
}

/** Return the last image shown, or a random one. @param {AbortSignal} [signal] */
export const lastOrRandom = async (signal) => last ?? (await randomImage([], signal));

/**
 * Return the image before this one, if any.
 * @param {string} image
 * @returns {string | undefined}
 */
export const previousImage = (image) => list[list.indexOf(image) - 1];

/**
 * Return the image after this one; at the end of the list, append a random one.
 * @param {string} image
 * @param {AbortSignal} [signal]
 */
export async function nextImage(image, signal) {
  const index = list.indexOf(image);
  if (index + 1 === list.length) list.push(await randomImage(list, signal));
  return list[index + 1];
}

/**
 * Return a random image and put it after this one, so that "previous" leads back.
 * @param {string | null} image
 * @param {AbortSignal} [signal]
 */
export async function randomNext(image, signal) {
  const other = await randomImage(list, signal);
  list = [...list.slice(0, image === null ? 0 : list.indexOf(image) + 1), other];
  listed = 0;
  return other;
}

/**
 * Return a random image, if possible none of the given ones. The service lists images by prefix only, so this
 * searches for the images of a random label.
 * @param {string[]} others
 * @param {AbortSignal} [signal]
 * @returns {Promise<string>}
 */
async function randomImage(others, signal) {
  if (!pool.length) pool = shuffled(await someImages(signal)).slice(0, POOL_SIZE);
  const index = Math.max(
    0,
    pool.findIndex((image) => !others.includes(image)),
  );
  return pool.splice(index, 1)[0];
}

/** @param {AbortSignal} [signal] @returns {Promise<string[]>} */
async function someImages(signal) {
  commonLabels ??= (await get("labels", { prefix: "", limit: 100 }, signal)).labels.map(
    (/** @type {{label: string}} */ one) => one.label,
  );
  const [label] = shuffled(commonLabels ?? []);
  const found = label ? (await postQuery("search", { labels: [label], top: 100, tagged: true }, signal)).images : [];
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
