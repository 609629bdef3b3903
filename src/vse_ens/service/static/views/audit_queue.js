/** The findings in a row, one of them in front: moving, judging, undoing, loading further ones. It draws nothing. */

import { orToast } from "../parts/toast.js";

/** @typedef {import("../core/api.js").Finding} Finding */
/** @typedef {"open" | "agreed" | "disagreed" | "skipped"} Mark */
/** @typedef {{finding: Finding, mark: Mark, token: number | string | null}} Entry  `token` takes the verdict back */
/** @typedef {{total: number, findings: Finding[]}} Page */

/** So many before the end of what is loaded, the next page is asked for. */
const AHEAD = 10;

export class Queue {
  /**
   * @param {import("./audit_judges.js").Judge} judge
   * @param {Page} page the first
   * @param {(offset: number) => Promise<Page>} load
   */
  constructor(judge, page, load) {
    this.judges = judge;
    this.load = load;
    this.total = page.total;
    /** @type {Entry[]} */
    this.entries = [];
    this.place = 0;
    /** Judged in this visit, the last at the end. @type {Entry[]} */
    this.done = [];
    this.loading = false;
    /** One verdict after another, so that an undo finds the one before it. @type {Promise<unknown>} */
    this.turn = Promise.resolve();
    /** Called whenever something is other than it was. */
    this.onChange = () => {};
    this.add(page);
    this.place = Math.max(0, this.firstOpen());
  }

  /** The finding in front, unless there is none at all. */
  get front() {
    return this.entries.at(this.place);
  }

  get judged() {
    return this.entries.filter((entry) => entry.mark === "agreed" || entry.mark === "disagreed").length;
  }

  firstOpen() {
    return this.entries.findIndex((entry) => entry.mark === "open");
  }

  /** @param {number} place */
  to(place) {
    if (place < 0 || place >= this.entries.length) return;
    this.place = place;
    this.onChange();
    if (place >= this.entries.length - AHEAD) this.loadMore();
  }

  /** @param {number} step */
  move(step) {
    this.to(this.place + step);
  }

  skip() {
    if (this.front?.mark === "open") this.front.mark = "skipped";
    this.onward();
  }

  /** @param {boolean} agree */
  judge(agree) {
    const entry = this.front;
    if (!entry || this.judges.kept === "nowhere") return;
    const before = { mark: entry.mark, token: entry.token };
    entry.mark = agree ? "agreed" : "disagreed";
    this.onward();
    this.inTurn(
      async () => {
        if (before.token !== null) await this.judges.takeBack(before.token);
        entry.token = await this.judges.say(entry.finding, agree);
        this.done.push(entry);
      },
      () => Object.assign(entry, before),
    );
  }

  undo() {
    this.inTurn(async () => {
      const entry = this.done.pop();
      if (!entry || entry.token === null) return;
      await this.judges.takeBack(entry.token);
      Object.assign(entry, { mark: "open", token: null });
      // Judged twice, it is undone once.
      this.done = this.done.filter((other) => other !== entry);
      this.place = this.entries.indexOf(entry);
    });
  }

  onward() {
    if (this.place + 1 < this.entries.length) this.move(1);
    else this.onChange();
  }

  /**
   * What fails is said and taken back.
   * @param {() => Promise<void>} work
   * @param {() => void} [failed]
   */
  inTurn(work, failed) {
    const attempt = () =>
      work().catch((error) => {
        failed?.();
        throw error;
      });
    this.turn = this.turn.then(() => orToast(attempt)).then(() => this.onChange());
  }

  /** @param {Page} page */
  add(page) {
    const seen = new Set(this.entries.map((entry) => nameOf(entry.finding)));
    for (const finding of page.findings) {
      if (seen.has(nameOf(finding))) continue;
      const known = this.judges.known(finding);
      if (known) this.entries.push({ finding, mark: known.agree ? "agreed" : "disagreed", token: known.token });
      else this.entries.push({ finding, mark: "open", token: null });
    }
  }

  async loadMore() {
    if (this.loading || this.entries.length >= this.total) return;
    this.loading = true;
    // Those that the service was told about are no longer in its list.
    const gone = this.judges.kept === "service" ? this.entries.filter((entry) => entry.token !== null).length : 0;
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
