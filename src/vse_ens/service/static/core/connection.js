/** A service that is away, or not ready yet: the page says so, looks for it, and goes on when it is back. */

import { announce } from "./announcer.js";
import { fill } from "./dom.js";

const AWAY = "The service does not answer. Trying again …";
const SHORTEST = 1_000;
const LONGEST = 8_000;

/** @type {Promise<void> | null} */
let looking = null;

/**
 * Resolves when the service is ready again.
 * @param {string} [sentence] what the person is told meanwhile
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
export async function waitForService(sentence = AWAY, signal) {
  looking ??= look(sentence).finally(() => (looking = null));
  await looking;
  signal?.throwIfAborted();
}

/** An answer came: whatever the banner says is past. */
export function backAgain() {
  if (!looking) fill(banner());
}

/** @param {string} sentence */
async function look(sentence) {
  fill(banner(), sentence);
  for (let pause = SHORTEST; ; pause = Math.min(2 * pause, LONGEST)) {
    await moment(pause);
    const response = await fetch("ready").catch(() => null);
    if (response?.ok) break;
    if (response) fill(banner(), "The model is being loaded …");
  }
  fill(banner());
  announce("The service is back.");
}

/** A while, or until the network is said to be there. @param {number} milliseconds @returns {Promise<void>} */
function moment(milliseconds) {
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
