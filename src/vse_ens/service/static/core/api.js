/** Requests to the service. Responses are data: the page shows them as text only. */

import { storedKey, storedName } from "./storage.js";
import { clearBanner, waitForService } from "./connection.js";
import { asSentence } from "./format.js";
import { askKey } from "../parts/key_dialog.js";

/** @typedef {{labels: string[], share: number, source: string, images?: string[], count?: number}} Reason */
/**
 * The confidence is the chance that a label is right, the hit that it is the one missing label of an image.
 * @typedef {{label: string, score: number, confidence: number | null, hit?: number | null, because?: Reason[]}} Suggestion
 */
/** @typedef {{label: string, source: "data" | "feedback", event: number | null}} HeldLabel */
/**
 * @typedef {object} ImageState
 * @property {string} image
 * @property {boolean} known whether the model knows it
 * @property {HeldLabel[]} labels
 * @property {{label: string, event: number}[]} rejected
 * @property {Suggestion[]} suggestions
 * @property {string | null} url address of its picture
 */

/**
 * @typedef {{image: string, score: number, confidence: number | null, labels: string[], url?: string | null}} FoundImage
 */
/**
 * @typedef {object} Finding about an image and a label, or about two labels
 * @property {string} [image]
 * @property {string} label
 * @property {string} [other]
 * @property {number | null} [confidence]
 * @property {Reason[]} [because]
 * @property {string} [reason]
 * @property {"same" | "alike"} [kind] of two labels
 * @property {string} [evidence] for two labels
 * @property {number} [support] images on which an implication was seen
 * @property {number} [exceptions] images that contradict it
 * @property {string | null} [url] address of the picture
 */

/** @typedef {{event: number, state: ImageState}} FeedbackResult */

/** An error response: one sentence, and similar IDs for an unknown one. */
export class ApiError extends Error {
  /**
   * @param {string} message
   * @param {number} status
   * @param {string[]} [nearest]
   * @param {boolean} [isTemporary] whether the service asks to retry
   */
  constructor(message, status, nearest = [], isTemporary = false) {
    super(message);
    this.status = status;
    this.nearest = nearest;
    this.isTemporary = isTemporary;
  }
}

/**
 * Read; waits and retries while the service is unreachable.
 * @param {string} path
 * @param {Record<string, string | number> | string[][]} [query] pairs if a name occurs twice
 * @param {AbortSignal} [signal]
 */
export const get = (path, query = {}, signal) => withRetry(`${path}?${new URLSearchParams(asText(query))}`, {}, signal);

/**
 * Read with a request too large for a URL.
 * @param {string} path
 * @param {object} body
 * @param {AbortSignal} [signal]
 */
export const postQuery = (path, body, signal) => withRetry(path, jsonRequest(body), signal);

/**
 * Change something, without retries: if the service is unreachable, the caller gets an error.
 * @param {string} path
 * @param {object} change
 */
export async function postChange(path, change) {
  try {
    return await send(path, jsonRequest(change));
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    waitForService();
    throw new ApiError("The service does not respond; nothing was saved. Try again when it is back.", 0);
  }
}

/** @param {string} path @param {RequestInit} request @param {AbortSignal} [signal] @returns {Promise<any>} */
async function withRetry(path, request, signal) {
  for (;;) {
    try {
      return await send(path, { ...request, signal });
    } catch (error) {
      const isBusy = error instanceof ApiError && error.isTemporary;
      if (!isBusy && !isUnreachable(error)) throw error;
      await waitForService(isBusy ? error.message : undefined, signal);
    }
  }
}

/** @param {string} path @param {RequestInit} request @returns {Promise<any>} */
async function send(path, request) {
  const key = storedKey.get();
  const headers = new Headers(request.headers);
  headers.set("X-VSE-User", inHeader(storedName.get() || "anonymous"));
  if (key) headers.set("Authorization", `Bearer ${key}`);
  const response = await fetch(`api/${path}`, { ...request, headers });
  if (response.status === 401) {
    if (await askKey(key)) return send(path, request);
    throw new ApiError("This service requires an API key; reload the page to enter it.", 401);
  }
  clearBanner();
  const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
  if (response.ok && !isJson) return response.blob();
  const answer = isJson ? await response.json() : {};
  if (typeof answer.model === "string") noteModel(answer.model);
  if (typeof answer.state?.model === "string") noteModel(answer.state.model);
  if (response.ok) return answer;
  const isTemporary = response.status === 503 && response.headers.has("Retry-After");
  const sentence = answer.error ? asSentence(answer.error) : `The service responded with status ${response.status}.`;
  throw new ApiError(sentence, response.status, answer.nearest, isTemporary);
}

/** The fingerprint of the model that answered last. */
let answering = "";

/** Tell the page that another model answers. @param {string} fingerprint */
function noteModel(fingerprint) {
  const before = answering;
  answering = fingerprint;
  if (before && before !== fingerprint) document.dispatchEvent(new CustomEvent("vse-model"));
}

/** Headers hold ASCII only, so other characters are percent-encoded. @param {string} name */
const inHeader = (name) => (/^[ -$&-~]*$/.test(name) ? name : encodeURIComponent(name));

/** @param {object} body */
const jsonRequest = (body) => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

/** @param {Record<string, string | number> | string[][]} query */
const asText = (query) =>
  Array.isArray(query)
    ? query
    : Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]));

/** fetch throws a TypeError only if there is no response. @param {unknown} error */
const isUnreachable = (error) => error instanceof TypeError;
