/** Questions to the service. Its answers are data: they reach the page as text only. */

import { keptKey, keptName } from "./kept.js";
import { backAgain, waitForService } from "./connection.js";
import { asSentence } from "./words.js";
import { askKey } from "../parts/key_dialog.js";

/** @typedef {{labels: string[], share: number, source: string}} Reason */
/** @typedef {{label: string, score: number, confidence: number | null, because?: Reason[]}} Suggestion */
/** @typedef {{label: string, source: "data" | "feedback", event: number | null}} HeldLabel */
/**
 * @typedef {object} ImageState
 * @property {string} image
 * @property {boolean} known whether the model has seen it
 * @property {HeldLabel[]} labels
 * @property {{label: string, event: number}[]} rejected
 * @property {Suggestion[]} suggestions
 * @property {string | null} url where its picture is
 */

/** @typedef {{image: string, score: number, confidence: number | null, labels: string[]}} FoundImage */
/**
 * @typedef {object} Finding of an image and a label, or of two labels
 * @property {string} [image]
 * @property {string} label
 * @property {string} [other]
 * @property {number | null} confidence
 * @property {Reason[]} [because]
 * @property {string} [reason]
 */

/** @typedef {{event: number, state: ImageState}} Judgement */

/** An answer that is no success: one sentence, and the ids that were perhaps meant. */
export class ApiError extends Error {
  /**
   * @param {string} message
   * @param {number} status
   * @param {string[]} [nearest]
   * @param {boolean} [passing] the service itself says that it will be able to answer soon
   */
  constructor(message, status, nearest = [], passing = false) {
    super(message);
    this.status = status;
    this.nearest = nearest;
    this.passing = passing;
  }
}

/**
 * Ask without changing anything; waits for a service that is away and asks again.
 * @param {string} path
 * @param {Record<string, string | number>} [query]
 * @param {AbortSignal} [signal]
 */
export const get = (path, query = {}, signal) => patiently(`${path}?${new URLSearchParams(asText(query))}`, {}, signal);

/**
 * The same with a question too large for an address.
 * @param {string} path
 * @param {object} question
 * @param {AbortSignal} [signal]
 */
export const ask = (path, question, signal) => patiently(path, inBody(question), signal);

/**
 * Change something, once: when the service is away the caller is told, since nothing was kept.
 * @param {string} path
 * @param {object} change
 */
export async function tell(path, change) {
  try {
    return await once(path, inBody(change));
  } catch (error) {
    if (!isAway(error)) throw error;
    waitForService();
    throw new ApiError("The service does not answer; nothing was kept. Try again when it is back.", 0);
  }
}

/** @param {string} path @param {RequestInit} request @param {AbortSignal} [signal] @returns {Promise<any>} */
async function patiently(path, request, signal) {
  for (;;) {
    try {
      return await once(path, { ...request, signal });
    } catch (error) {
      const busy = error instanceof ApiError && error.passing;
      if (!busy && !isAway(error)) throw error;
      await waitForService(busy ? error.message : undefined, signal);
    }
  }
}

/** @param {string} path @param {RequestInit} request @returns {Promise<any>} */
async function once(path, request) {
  const key = keptKey.get();
  const headers = new Headers(request.headers);
  headers.set("X-VSE-User", inHeader(keptName.get() || "anonymous"));
  if (key) headers.set("Authorization", `Bearer ${key}`);
  const response = await fetch(`api/${path}`, { ...request, headers });
  if (response.status === 401) {
    if (await askKey(key)) return once(path, request);
    throw new ApiError("This service needs its key; reload the page to give it.", 401);
  }
  backAgain();
  const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
  if (response.ok && !isJson) return response.blob();
  const answer = isJson ? await response.json() : {};
  if (response.ok) return answer;
  const passing = response.status === 503 && response.headers.has("Retry-After");
  const sentence = answer.error ? asSentence(answer.error) : `The service answered ${response.status}.`;
  throw new ApiError(sentence, response.status, answer.nearest, passing);
}

/** A header holds plain characters only; a name with others travels percent-encoded. @param {string} name */
const inHeader = (name) => (/^[ -$&-~]*$/.test(name) ? name : encodeURIComponent(name));

/** @param {object} body */
const inBody = (body) => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

/** @param {Record<string, string | number>} query */
const asText = (query) => Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]));

/** fetch throws a TypeError, and nothing else, where nobody answers. @param {unknown} error */
const isAway = (error) => error instanceof TypeError;
