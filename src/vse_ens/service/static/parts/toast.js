/** A sentence that comes and goes, for what went wrong. */

import { h } from "../core/dom.js";
import { icon } from "./icon.js";

const SECONDS = 10;

/**
 * Say it at the foot of the page; the page lives on.
 * @param {string} sentence
 */
export function toast(sentence) {
  const place = document.getElementById("toasts");
  if (!place) return;
  for (const old of place.children) if (old.firstChild?.textContent === sentence) old.remove();
  const close = h(
    "button",
    { type: "button", class: "quiet icon-only", "aria-label": "Close", onclick: () => note.remove() },
    icon("cross"),
  );
  const note = h("div", { class: "toast" }, h("p", {}, sentence), close);
  place.append(note);
  setTimeout(() => note.remove(), SECONDS * 1_000);
}

/**
 * Do something and say what went wrong, if anything did.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T | undefined>}
 */
export async function orToast(work) {
  try {
    return await work();
  } catch (error) {
    if (isStopped(error)) return undefined;
    toast(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/**
 * Whether this is no failure but a question that nobody waits for any more.
 * @param {unknown} error
 */
export const isStopped = (error) => error instanceof DOMException && error.name === "AbortError";
