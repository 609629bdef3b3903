/**
 * What the reader has seen. A verdict counts only for a suggestion that has been visible for a moment, and a number
 * key means the suggestion that had this number a moment ago: a list that changes under the hand decides nothing.
 */

/** Milliseconds. */
export const MOMENT = 150;

export class Seen {
  constructor() {
    /** When each label appeared. @type {Map<string, number>} */
    this.since = new Map();
    /** Numbered labels, the latest last. @type {{at: number, labels: string[]}[]} */
    this.numberings = [];
  }

  /**
   * @param {string[]} labels all that are visible now
   * @param {string[]} numbered those with a number, in order
   * @param {number} [now]
   */
  show(labels, numbered, now = performance.now()) {
    this.since = new Map(labels.map((label) => [label, this.since.get(label) ?? now]));
    const last = this.numberings.at(-1);
    if (last?.labels.join("\n") === numbered.join("\n")) return;
    this.numberings.push({ at: now, labels: numbered });
    // One older than a moment is enough.
    const old = this.numberings.filter((one) => one.at <= now - MOMENT).length;
    this.numberings.splice(0, Math.max(0, old - 1));
  }

  /**
   * Whether a label has been visible for a moment.
   * @param {string} label
   * @param {number} [now]
   */
  has(label, now = performance.now()) {
    const since = this.since.get(label);
    return since !== undefined && now - since >= MOMENT;
  }

  /**
   * The label that had a number a moment ago.
   * @param {number} number from 1
   * @param {number} [now]
   * @returns {string | undefined}
   */
  numbered(number, now = performance.now()) {
    return this.numberings.filter((one) => now - one.at >= MOMENT).at(-1)?.labels[number - 1];
  }
}
