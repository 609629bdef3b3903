/** Asks for the API key, once per tab. */

import { storedKey } from "../core/storage.js";
import { askLine } from "./dialog.js";

/** @type {Promise<void> | null} */
let asking = null;

/**
 * Ask for a key other than the rejected one; concurrent requests share one dialog.
 * @param {string} rejected
 * @returns {Promise<boolean>} whether there is a new key
 */
export async function askKey(rejected) {
  if (storedKey.get() === rejected) {
    asking ??= askOnce(Boolean(rejected)).finally(() => (asking = null));
    await asking;
  }
  return storedKey.get() !== rejected;
}

/** @param {boolean} again */
async function askOnce(again) {
  const key = await askLine({
    title: "API key required",
    text: again
      ? "That key is not valid. Ask the person who runs the service."
      : "Ask the person who runs the service. The key is stored until you close this tab.",
    label: "API key",
    button: "Continue",
    secret: true,
  });
  if (key) storedKey.set(key);
}
