/** Changes of the feedback: sent one after another, and one undo stack for the session. */

import { ApiError, postChange } from "./api.js";
import { storedDecisions } from "./storage.js";

/**
 * @typedef {object} Decision a stored verdict, or several that were stored together
 * @property {number} [event]
 * @property {number} [batch]
 * @property {string} text such as "accept beach for img_17"
 * @property {string} address where it was made
 */

const MOST = 500;

/** Latest last; kept until the tab closes. @type {Decision[]} */
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

/** @param {Decision} decision */
export function remember(decision) {
  stack.push(decision);
  write();
}

/** Remove an event from the stack that was undone in another way. @param {number} event */
export function forget(event) {
  const index = stack.findIndex((one) => one.event === event);
  if (index >= 0) stack.splice(index, 1);
  write();
}

/**
 * Undo the last decision of this session.
 * @returns {Promise<{decision: Decision, answer: any} | null>} null if there is none
 */
export function undoLast() {
  return enqueue(async () => {
    const decision = stack.at(-1);
    if (!decision) return null;
    try {
      const { event, batch } = decision;
      const answer = await postChange("feedback/undo", batch === undefined ? { event } : { batch });
      drop(decision);
      return { decision, answer };
    } catch (error) {
      // The service does not know it any more; the ones before can still be undone.
      if (error instanceof ApiError && error.status === 404) drop(decision);
      throw error;
    }
  });
}

/** @param {Decision} decision */
function drop(decision) {
  const index = stack.lastIndexOf(decision);
  if (index >= 0) stack.splice(index, 1);
  write();
}

function write() {
  stack.splice(0, Math.max(0, stack.length - MOST));
  storedDecisions.set(JSON.stringify(stack));
}

/** @returns {Decision[]} */
function read() {
  try {
    return JSON.parse(storedDecisions.get() || "[]");
  } catch {
    return [];
  }
}
