/** The findings in a row, one of them in front: moving, judging, undoing, and how far one has come. */

import { announce } from "../core/announcer.js";
import { fill, h } from "../core/dom.js";
import { count, percent } from "../core/words.js";
import { download } from "../parts/download.js";
import { icon } from "../parts/icon.js";
import { orToast } from "../parts/toast.js";

/** @typedef {import("../core/api.js").Finding} Finding */
/** @typedef {"open" | "agreed" | "disagreed" | "skipped"} Mark */
/** @typedef {{finding: Finding, mark: Mark, token: number | string | null}} Entry */
/** @typedef {{kind: string, total: number, findings: Finding[]}} Page */

/** So many before the end of what is loaded, the next page is asked for. */
const AHEAD = 10;
const MARKS = { open: null, agreed: "check", disagreed: "cross", skipped: "minus" };

export class Queue {
  /**
   * @param {object} shape
   * @param {string} shape.kind
   * @param {import("./audit_judges.js").Judge} shape.judge
   * @param {(offset: number) => Promise<Page>} shape.load
   * @param {Page} shape.page the first
   * @param {(finding: Finding) => HTMLElement} shape.card
   */
  constructor({ kind, judge, load, page, card }) {
    this.kind = kind;
    this.judgeOf = judge;
    this.load = load;
    this.total = page.total;
    this.card = card;
    /** @type {Entry[]} */
    this.entries = [];
    this.place = 0;
    /** Judged in this visit, the last at the end. @type {Entry[]} */
    this.done = [];
    this.loading = false;
    this.stage = h("section", { class: "stage", "aria-label": "Finding" });
    this.list = h("ol", { class: "queue-list" });
    this.bar = /** @type {HTMLProgressElement} */ (h("progress", { class: "queue-progress", "aria-label": "Judged" }));
    this.tally = h("p", { class: "tally" });
    this.note = h("p", { class: "aside" });
    const agree = this.button("primary", "check", "Agree", "a", () => this.judge(true));
    const disagree = this.button("", "cross", "Disagree", "r", () => this.judge(false));
    const skip = this.button("quiet", "forth", "Skip", "Space", () => this.skip());
    const undo = this.button("quiet", "undo", "Undo", "u", () => this.undo());
    this.buttons = h("div", { class: "verdicts" }, agree, disagree, skip, undo);
    this.elements = [
      h("div", { class: "stage-column" }, this.stage, this.buttons),
      h("aside", { class: "queue", "aria-label": "Queue" }, this.tally, this.bar, this.note, this.list),
    ];
    this.add(page);
    this.place = Math.max(0, this.entries.findIndex((entry) => entry.mark === "open"));
  }

  /** @param {string} look @param {Parameters<typeof icon>[0]} drawing @param {string} text @param {string} key @param {() => void} act */
  button(look, drawing, text, key, act) {
    return h("button", { type: "button", class: look, onclick: act }, icon(drawing), text, h("kbd", { "aria-hidden": "true" }, key));
  }

  /** @param {Page} page */
  add(page) {
    this.total = Math.max(this.total, page.total);
    const seen = new Set(this.entries.map((entry) => nameOf(entry.finding)));
    for (const finding of page.findings) {
      if (seen.has(nameOf(finding))) continue;
      const known = this.judgeOf.known(finding);
      this.entries.push({ finding, mark: known === undefined ? "open" : known ? "agreed" : "disagreed", token: known === undefined ? null : nameOf(finding) });
    }
    fill(this.list, ...this.entries.map((entry, place) => this.row(entry, place)));
  }

  /** @param {Entry} entry @param {number} place */
  row(entry, place) {
    const { finding } = entry;
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "queue-row", onclick: () => this.to(place) },
        h("span", { class: "queue-mark" }),
        h("span", { class: "queue-name" }, h("strong", {}, finding.label), h("span", { class: finding.image === undefined ? "" : "id" }, finding.image ?? `= ${finding.other}`)),
        h("span", { class: "queue-share" }, percent(finding.confidence)),
      ),
    );
  }

  /** The finding in front, and the row beside it. */
  show() {
    const entry = this.entries[this.place];
    const judged = this.entries.filter((one) => one.mark === "agreed" || one.mark === "disagreed").length;
    this.bar.max = Math.max(1, this.total);
    this.bar.value = judged;
    fill(this.tally, h("strong", {}, count(judged)), ` of ${count(this.total)} judged`);
    this.showNote();
    this.buttons.hidden = !entry;
    if (!entry) {
      fill(this.stage, h("div", { class: "none" }, h("p", {}, "Nothing to look at: no finding is left.")));
      return;
    }
    fill(this.stage, this.card(entry.finding));
    this.stage.dataset.mark = entry.mark;
    for (const [place, row] of [...this.list.children].entries()) this.markRow(row, this.entries[place], place === this.place);
    if (this.place >= this.entries.length - AHEAD) this.loadMore();
  }

  /** @param {Element} row @param {Entry} entry @param {boolean} current */
  markRow(row, entry, current) {
    const button = /** @type {HTMLElement} */ (row.firstElementChild);
    if (current) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    button.dataset.mark = entry.mark;
    const drawing = MARKS[entry.mark];
    fill(/** @type {Element} */ (button.firstElementChild), drawing && icon(/** @type {Parameters<typeof icon>[0]} */ (drawing)), drawing && h("span", { class: "unseen" }, entry.mark));
    // Only the list scrolls; the page stays where it is.
    if (current && this.list.scrollHeight > this.list.clientHeight) {
      const top = /** @type {HTMLElement} */ (row).offsetTop - this.list.offsetTop;
      if (top < this.list.scrollTop) this.list.scrollTop = top;
      else if (top + row.clientHeight > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = top + row.clientHeight - this.list.clientHeight;
    }
  }

  showNote() {
    if (this.judgeOf.kept === "nowhere") fill(this.note, "This service keeps no verdicts.");
    if (this.judgeOf.kept !== "browser") return;
    const agreed = this.judgeOf.agreed();
    fill(
      this.note,
      "Kept in this browser. ",
      agreed.length > 0 && h("button", { type: "button", class: "as-link", onclick: () => download("labels-to-merge.csv", csv(agreed)) }, `Download ${count(agreed.length)} to merge`),
    );
  }

  /** @param {number} place */
  to(place) {
    if (place < 0 || place >= this.entries.length) return;
    this.place = place;
    this.show();
    this.tellFinding();
  }

  /** @param {number} step */
  move(step) {
    this.to(this.place + step);
  }

  skip() {
    const entry = this.entries[this.place];
    if (!entry) return;
    if (entry.mark === "open") entry.mark = "skipped";
    this.onward();
  }

  /** @param {boolean} agree */
  judge(agree) {
    const entry = this.entries[this.place];
    if (!entry || this.judgeOf.kept === "nowhere") return;
    const before = { mark: entry.mark, token: entry.token };
    entry.mark = agree ? "agreed" : "disagreed";
    this.onward();
    this.inTurn(async () => {
      if (before.token !== null) await this.judgeOf.takeBack(before.token);
      const token = await this.judgeOf.say(entry.finding, agree);
      entry.token = token;
      this.done.push(entry);
    }, () => Object.assign(entry, before));
  }

  undo() {
    this.inTurn(async () => {
      const entry = this.done.pop();
      if (!entry || entry.token === null) {
        announce("Nothing to undo.");
        return;
      }
      await this.judgeOf.takeBack(entry.token);
      Object.assign(entry, { mark: "open", token: null });
      this.to(this.entries.indexOf(entry));
    });
  }

  /** @type {Promise<unknown>} */
  turn = Promise.resolve();

  /** One after another; what fails is said and taken back. @param {() => Promise<void>} work @param {() => void} [failed] */
  inTurn(work, failed) {
    this.turn = this.turn.then(() =>
      orToast(async () => {
        try {
          await work();
        } catch (error) {
          failed?.();
          throw error;
        } finally {
          this.show();
        }
      }),
    );
  }

  onward() {
    if (this.place + 1 < this.entries.length) this.move(1);
    else {
      this.show();
      announce("That was the last finding.");
    }
  }

  tellFinding() {
    const { finding } = this.entries[this.place];
    announce(`${this.place + 1}: ${finding.label}, ${finding.image ?? finding.other}, ${percent(finding.confidence)}. ${finding.reason ?? ""}`);
  }

  async loadMore() {
    if (this.loading || this.entries.length >= this.total) return;
    this.loading = true;
    // Those that the service was told about are no longer in its list.
    const gone = this.judgeOf.kept === "service" ? this.entries.filter((entry) => entry.token !== null).length : 0;
    const page = await orToast(() => this.load(this.entries.length - gone));
    this.loading = false;
    if (!page) return;
    this.total = page.findings.length ? page.total + gone : this.entries.length;
    this.add({ ...page, total: this.total });
    if (page.findings.length) this.show();
  }
}

/** @param {Finding} finding */
const nameOf = ({ image, label, other }) => JSON.stringify(image === undefined ? [label, other] : [image, label]);

/** @param {{label: string, other: string}[]} merges */
const csv = (merges) => [["label", "into"], ...merges.map(({ label, other }) => [label, other])].map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";

/** @param {string} text */
const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
