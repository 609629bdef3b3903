/** Answers that the service is still making: asked for again until they are there. */

import { get } from "./api.js";

const PAUSE = 500;

/**
 * @param {string} path
 * @param {Record<string, string | number>} query
 * @param {(done: number) => void} tell how much is done, from 0 to 1
 * @param {AbortSignal} signal
 */
export async function whenMade(path, query, tell, signal) {
  for (;;) {
    const answer = await get(path, query, signal);
    if (answer.state !== "working") return answer;
    tell(answer.done ?? 0);
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    signal.throwIfAborted();
  }
}
