/** Shows a banner while the service is unreachable or not ready, and waits until it is back. */

import { announce } from "./announcer.js";
import { fill } from "./dom.js";

const UNREACHABLE = "The service does not respond. Retrying …";
const SHORTEST = 1_000;
const LONGEST = 8_000;

/** @type {Promise<void> | null} */
let waiting = null;

/**
 * Resolve when the service is ready again.
 * @param {string} [sentence] text of the banner
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
export async function waitForService(sentence = UNREACHABLE, signal) {
  waiting ??= waitUntilReady(sentence).finally(() => (waiting = null));
  await waiting;
  signal?.throwIfAborted();
}

/** Clear the banner after a response. */
export function clearBanner() {
  if (!waiting) fill(banner());
}

/** @param {string} sentence */
async function waitUntilReady(sentence) {
  fill(banner(), sentence);
  for (let delay = SHORTEST; ; delay = Math.min(2 * delay, LONGEST)) {
    await pause(delay);
    const response = await fetch("ready").catch(() => null);
    if (response?.ok) break;
    if (response) fill(banner(), "The model is loading …");
  }
  fill(banner());
  announce("The service is back.");
}

/** Wait for a time, or until the network is back. @param {number} milliseconds @returns {Promise<void>} */
function pause(milliseconds) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener("online", done);
  });
}

const banner = () => /** @type {HTMLElement} */ (document.getElementById("banner"));
