/** The API key, asked for once a tab. */

import { keptKey } from "../core/kept.js";
import { askLine } from "./dialog.js";

/** @type {Promise<void> | null} */
let asking = null;

/**
 * Ask for another key than the one that was refused; several who ask share one dialog.
 * @param {string} refused
 * @returns {Promise<boolean>} whether there is another one now
 */
export async function askKey(refused) {
  if (keptKey.get() === refused) {
    asking ??= askOnce(Boolean(refused)).finally(() => (asking = null));
    await asking;
  }
  return keptKey.get() !== refused;
}

/** @param {boolean} again */
async function askOnce(again) {
  const key = await askLine({
    title: "This service needs a key",
    text: again
      ? "That key was not right. The person who runs the service has it."
      : "The person who runs the service has it. It is kept until this tab is closed.",
    label: "API key",
    button: "Go on",
    secret: true,
  });
  if (key) keptKey.set(key);
}
