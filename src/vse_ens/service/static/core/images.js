/** Order of images for "next" and "previous": the current list, then the queue of the service. */

import { get } from "./api.js";
import { storedOrder } from "./storage.js";

const PAGE = 20;
/** Suggestions of an image. */
export const TOP = 12;

/** @type {string[]} */
let list = [];
/** The last image shown. @type {string | null} */
let last = null;
/** Length of the original list; images after it come from the queue. */
let listed = 0;
/** Images of the queue that were not shown yet. @type {string[]} */
let waiting = [];
/** Images that were shown in this session. @type {Set<string>} */
const shown = new Set();
/** @type {{done: number, total: number} | null} */
let progress = null;
/** Whether images that were shown have a verdict. @type {Map<string, boolean>} */
const reviewed = new Map();
/** The state of the first image of the queue, which came with it. @type {import("./api.js").ImageState | null} */
let first = null;

/** @returns {"gain" | "random" | "verdicts"} */
export const imageOrder = () => {
  const stored = storedOrder.get();
  return stored === "random" || stored === "verdicts" ? stored : "gain";
};

/** @param {string} order */
export function setImageOrder(order) {
  storedOrder.set(order);
  waiting = [];
}

/** How many images have a verdict: what the queue told, and the verdicts since. */
export const queueProgress = () => progress;

/** Note whether an image has a verdict now. @param {string} image @param {boolean} has */
export function setReviewed(image, has) {
  if (progress) progress.done += Number(has) - Number(reviewed.get(image) ?? has);
  reviewed.set(image, has);
}

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
  shown.add(image);
  if (!list.includes(image)) {
    list = [image];
    listed = 0;
  }
  const index = list.indexOf(image);
  return index < listed ? `${index + 1} of ${listed}` : "";
}

/** Return the last image shown, or the first of the queue. @param {AbortSignal} [signal] */
export const lastOrFirst = async (signal) => last ?? (await fromQueue(signal));

/**
 * Return the image before this one, if any.
 * @param {string} image
 * @returns {string | undefined}
 */
export const previousImage = (image) => list[list.indexOf(image) - 1];

/**
 * Return the image after this one; at the end of the list, append one of the queue.
 * @param {string} image
 * @param {AbortSignal} [signal]
 */
export async function nextImage(image, signal) {
  const index = list.indexOf(image);
  if (index + 1 === list.length) list.push(await fromQueue(signal));
  return list[index + 1];
}

/**
 * Return a random image and put it after this one, so that "previous" leads back.
 * @param {string | null} image
 * @param {AbortSignal} [signal]
 */
export async function randomNext(image, signal) {
  const { images } = await get("queue", { order: "random", limit: PAGE }, signal);
  const other = firstUnseen(images) ?? images[0]?.image ?? (await anyImage(signal));
  list = [...list.slice(0, image === null ? 0 : list.indexOf(image) + 1), other];
  listed = 0;
  return other;
}

/**
 * The next image of the queue that was not shown in this session.
 * @param {AbortSignal} [signal]
 * @returns {Promise<string>}
 */
async function fromQueue(signal) {
  for (let offset = 0; !waiting.length; offset += PAGE) {
    const top = shown.size ? 0 : TOP;
    const answer = await get("queue", { order: imageOrder(), limit: PAGE, offset, top }, signal);
    first = answer.state;
    progress = { done: answer.done, total: answer.total };
    if (!answer.images.length) return anyImage(signal);
    waiting = names(answer.images).filter((image) => !shown.has(image));
  }
  return /** @type {string} */ (waiting.shift());
}

/** Return the state of an image if it came with the queue, once. @param {string} image */
export function takeState(image) {
  const state = first?.image === image ? first : null;
  first = null;
  return state;
}

/** An image although all have a verdict. @param {AbortSignal} [signal] @returns {Promise<string>} */
async function anyImage(signal) {
  const images = (await get("images", { prefix: "", limit: 100 }, signal)).images;
  return images[Math.floor(Math.random() * images.length)];
}

/** @param {{image: string}[]} images */
const names = (images) => images.map((one) => one.image);

/** @param {{image: string}[]} images */
const firstUnseen = (images) => names(images).find((image) => !shown.has(image) && !list.includes(image));
