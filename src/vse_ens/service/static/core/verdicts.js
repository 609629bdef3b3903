/** Changes of the feedback: sent one after another, and one undo stack for the session. */

import { ApiError, postChange } from "./api.js";
import { storedVerdicts } from "./storage.js";

/**
 * @typedef {object} StoredVerdict a verdict, or several that were stored together
 * @property {number} [event]
 * @property {number} [batch]
 * @property {string} text such as "accept beach for img_17"
 * @property {string} address where it was made
 */

const MOST = 500;

/** Latest last; kept until the tab closes. @type {StoredVerdict[]} */
const stack = read();
/** Changes run one after another, so that the last response wins and an undo finds the change before it. */
let queue = Promise.resolve();

/**
 * Run a change after those before it.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export function enqueue(work) {
  const result = queue.then(work);
  queue = result.then(
    () => undefined,
    () => undefined,
  );
  return result;
}

/** @param {StoredVerdict} verdict */
export function remember(verdict) {
  stack.push(verdict);
  write();
}

/** Remove an event from the stack that was undone in another way. @param {number} event */
export function forget(event) {
  const index = stack.findIndex((one) => one.event === event);
  if (index >= 0) stack.splice(index, 1);
  write();
}

/**
 * Undo the last verdict of this session.
 * @returns {Promise<{verdict: StoredVerdict, answer: any} | null>} null if there is none
 */
export function undoLast() {
  return enqueue(async () => {
    const verdict = stack.at(-1);
    if (!verdict) return null;
    try {
      const { event, batch } = verdict;
      const answer = await postChange("feedback/undo", batch === undefined ? { event } : { batch });
      drop(verdict);
      return { verdict, answer };
    } catch (error) {
      // The service does not know it any more; the ones before can still be undone.
      if (error instanceof ApiError && error.status === 404) drop(verdict);
      throw error;
    }
  });
}

/** @param {StoredVerdict} verdict */
function drop(verdict) {
  const index = stack.lastIndexOf(verdict);
  if (index >= 0) stack.splice(index, 1);
  write();
}

function write() {
  stack.splice(0, Math.max(0, stack.length - MOST));
  storedVerdicts.set(JSON.stringify(stack));
}

/** @returns {StoredVerdict[]} */
function read() {
  try {
    return JSON.parse(storedVerdicts.get() || "[]");
  } catch {
    return [];
  }
}
