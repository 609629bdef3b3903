/** The list of findings and the current one: moving, deciding, undoing, loading more. No drawing. */

import { orToast } from "../parts/toast.js";

/** @typedef {import("../core/api.js").Finding} Finding */
/** @typedef {"open" | "agreed" | "disagreed" | "skipped"} Mark */
/** @typedef {{finding: Finding, mark: Mark, token: number | null}} Entry  `token` takes the verdict back */
/** @typedef {{total: number, findings: Finding[]}} Page */

/** Distance from the end of the loaded findings at which the next page is requested. */
const AHEAD = 10;

export class Queue {
  /**
   * @param {import("./audit_verdicts.js").VerdictStore} verdicts
   * @param {Page} page the first
   * @param {(offset: number) => Promise<Page>} load
   */
  constructor(verdicts, page, load) {
    this.verdicts = verdicts;
    this.load = load;
    this.total = page.total;
    /** @type {Entry[]} */
    this.entries = [];
    this.index = 0;
    /** Decided in this visit, latest last. @type {Entry[]} */
    this.done = [];
    this.loading = false;
    /** Verdicts run one after another, so that an undo finds the previous one. @type {Promise<unknown>} */
    this.pending = Promise.resolve();
    /** Called after every change. */
    this.onChange = () => {};
    this.add(page);
    this.index = Math.max(0, this.firstOpen());
  }

  /** The current finding, if there is any. */
  get current() {
    return this.entries.at(this.index);
  }

  get reviewed() {
    return this.entries.filter((entry) => entry.mark === "agreed" || entry.mark === "disagreed").length;
  }

  firstOpen() {
    return this.entries.findIndex((entry) => entry.mark === "open");
  }

  /** @param {number} index */
  to(index) {
    if (index < 0 || index >= this.entries.length) return;
    this.index = index;
    this.onChange();
    if (index >= this.entries.length - AHEAD) this.loadMore();
  }

  /** @param {number} step */
  move(step) {
    this.to(this.index + step);
  }

  skip() {
    if (this.current?.mark === "open") this.current.mark = "skipped";
    this.next();
  }

  /** @param {boolean} agree */
  decide(agree) {
    const entry = this.current;
    if (!entry || !this.verdicts.stores) return;
    const before = { mark: entry.mark, token: entry.token };
    entry.mark = agree ? "agreed" : "disagreed";
    this.next();
    this.enqueue(
      async () => {
        if (before.token !== null) await this.verdicts.undo(before.token);
        entry.token = await this.verdicts.submit(entry.finding, agree);
        this.done.push(entry);
      },
      () => Object.assign(entry, before),
    );
  }

  undo() {
    this.enqueue(async () => {
      const entry = this.done.pop();
      if (!entry || entry.token === null) return;
      await this.verdicts.undo(entry.token);
      Object.assign(entry, { mark: "open", token: null });
      // A finding decided twice is undone once.
      this.done = this.done.filter((other) => other !== entry);
      this.index = this.entries.indexOf(entry);
    });
  }

  next() {
    if (this.index + 1 < this.entries.length) this.move(1);
    else this.onChange();
  }

  /**
   * Run after earlier work; on failure, show the error and revert.
   * @param {() => Promise<void>} work
   * @param {() => void} [failed]
   */
  enqueue(work, failed) {
    const attempt = () =>
      work().catch((error) => {
        failed?.();
        throw error;
      });
    this.pending = this.pending.then(() => orToast(attempt)).then(() => this.onChange());
  }

  /** @param {Page} page */
  add(page) {
    const seen = new Set(this.entries.map((entry) => nameOf(entry.finding)));
    for (const finding of page.findings) {
      if (seen.has(nameOf(finding))) continue;
      const known = this.verdicts.stored(finding);
      if (known) this.entries.push({ finding, mark: known.agree ? "agreed" : "disagreed", token: known.token });
      else this.entries.push({ finding, mark: "open", token: null });
    }
  }

  async loadMore() {
    if (this.loading || this.entries.length >= this.total) return;
    this.loading = true;
    // Findings with a verdict are no longer in the list of the service.
    const gone = this.entries.filter(({ token }) => token !== null).length;
    const page = await orToast(() => this.load(this.entries.length - gone));
    this.loading = false;
    if (!page) return;
    this.add(page);
    this.total = page.findings.length ? page.total + gone : this.entries.length;
    this.onChange();
  }
}

/** @param {Finding} finding */
const nameOf = ({ image, label, other }) => JSON.stringify([image, label, other]);

/**
 * The keys that work on a queue.
 * @param {() => Queue | null} queue
 * @returns {Record<string, (event: KeyboardEvent) => unknown>}
 */
export function queueKeys(queue) {
  const act = (/** @type {(queue: Queue) => unknown} */ what) => () => {
    const one = queue();
    return one ? what(one) : false;
  };
  const onSpace = (/** @type {KeyboardEvent} */ event) => {
    // On a button or link, Space activates that control.
    if (event.target instanceof Element && event.target.closest("button, a, summary")) return false;
    return act((one) => one.skip())();
  };
  return {
    j: act((one) => one.move(1)),
    k: act((one) => one.move(-1)),
    ArrowDown: act((one) => one.move(1)),
    ArrowUp: act((one) => one.move(-1)),
    a: act((one) => one.decide(true)),
    r: act((one) => one.decide(false)),
    x: act((one) => one.decide(false)),
    u: act((one) => one.undo()),
    " ": onSpace,
  };
}
