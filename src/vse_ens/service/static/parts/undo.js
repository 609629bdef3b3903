/** Undo of the last verdict of the session, wherever it was made. */

import { undoLast } from "../core/verdicts.js";
import { notice } from "./notice.js";
import { orToast } from "./toast.js";

/**
 * Undo, say what was undone, and return to where it was decided.
 * @param {(answer: any) => void} refresh called instead if that is the current address
 */
export async function undo(refresh) {
  const undone = await orToast(async () => (await undoLast()) ?? "nothing");
  if (!undone) return;
  if (undone === "nothing") {
    notice("Nothing to undo.");
    return;
  }
  notice(`Undone: ${undone.verdict.text}.`);
  if (location.hash === undone.verdict.address) refresh(undone.answer);
  else location.hash = undone.verdict.address;
}
