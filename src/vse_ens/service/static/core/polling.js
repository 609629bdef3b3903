/** Polls background jobs of the service. */

import { get } from "./api.js";

const PAUSE = 500;

/**
 * @param {string} path
 * @param {Record<string, string | number>} query
 * @param {(done: number) => void} onProgress called with the fraction done
 * @param {AbortSignal} signal
 */
export async function pollUntilReady(path, query, onProgress, signal) {
  for (;;) {
    const answer = await get(path, query, signal);
    if (answer.state !== "working") return answer;
    onProgress(answer.done ?? 0);
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    signal.throwIfAborted();
  }
}
