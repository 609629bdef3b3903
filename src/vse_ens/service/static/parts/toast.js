/** Temporary error messages. */

import { h } from "../core/dom.js";
import { icon } from "./icon.js";

const SECONDS = 10;

/**
 * Show a message at the bottom of the page.
 * @param {string} sentence
 */
export function toast(sentence) {
  const region = document.getElementById("toasts");
  if (!region) return;
  for (const old of region.children) if (old.firstChild?.textContent === sentence) old.remove();
  const close = h(
    "button",
    { type: "button", class: "quiet icon-only", "aria-label": "Close", onclick: () => note.remove() },
    icon("cross"),
  );
  const note = h("div", { class: "toast" }, h("p", {}, sentence), close);
  region.append(note);
  setTimeout(() => note.remove(), SECONDS * 1_000);
}

/**
 * Run something and show an error as a toast.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T | undefined>}
 */
export async function orToast(work) {
  try {
    return await work();
  } catch (error) {
    if (isAborted(error)) return undefined;
    toast(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/**
 * Whether the error is an aborted request.
 * @param {unknown} error
 */
export const isAborted = (error) => error instanceof DOMException && error.name === "AbortError";
