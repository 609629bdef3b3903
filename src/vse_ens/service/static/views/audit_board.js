/** The queue on the page: the finding in front, the verdicts below it, the row of all beside it. */

import { announce } from "../core/announcer.js";
import { fill, h } from "../core/dom.js";
import { count, percent } from "../core/words.js";
import { csv, download } from "../parts/download.js";
import { icon } from "../parts/icon.js";

/** @typedef {import("./audit_queue.js").Entry} Entry */
/** @typedef {Parameters<typeof icon>[0]} Drawing */

/** @type {Record<import("./audit_queue.js").Mark, Drawing | null>} */
const MARKS = { open: null, agreed: "check", disagreed: "cross", skipped: "minus" };

export class Board {
  /**
   * @param {import("./audit_queue.js").Queue} queue
   * @param {(finding: import("../core/api.js").Finding) => HTMLElement} card
   */
  constructor(queue, card) {
    this.queue = queue;
    this.card = card;
    /** @type {Entry | null} what is in front */
    this.shown = null;
    this.stage = h("section", { class: "stage", "aria-label": "Finding" });
    this.list = h("ol", { class: "queue-list" });
    this.bar = /** @type {HTMLProgressElement} */ (h("progress", { "aria-label": "Judged" }));
    this.tally = h("p", { class: "tally" });
    this.note = h("p", { class: "aside" });
    this.buttons = h(
      "div",
      { class: "verdicts" },
      button("primary", "check", "Agree", "a", () => queue.judge(true)),
      button("", "cross", "Disagree", "r", () => queue.judge(false)),
      button("quiet", "forth", "Skip", "Space", () => queue.skip()),
      button("quiet", "undo", "Undo", "u", () => queue.undo()),
    );
    this.side = h("aside", { class: "queue", "aria-label": "Queue" }, this.tally, this.bar, this.note, this.list);
    this.elements = [h("div", { class: "stage-column" }, this.stage, this.buttons), this.side];
    queue.onChange = () => this.show();
    this.show();
  }

  show() {
    const { front, entries, total, judged } = this.queue;
    this.bar.max = Math.max(1, total);
    this.bar.value = judged;
    fill(this.tally, h("strong", {}, count(judged)), ` of ${count(total)} judged`);
    this.showNote();
    this.buttons.hidden = this.side.hidden = !front;
    while (this.list.children.length < entries.length) this.list.append(this.row(this.list.children.length));
    for (const [place, row] of [...this.list.children].entries())
      markRow(row, entries[place], entries[place] === front);
    if (front) this.showFront(front);
    else fill(this.stage, h("p", { class: "none" }, "Nothing to look at: no finding is left."));
  }

  /** @param {Entry} front */
  showFront(front) {
    this.stage.dataset.mark = front.mark;
    if (front === this.shown) return;
    if (this.shown) announce(sentence(front));
    this.shown = front;
    fill(this.stage, this.card(front.finding));
    this.scrollTo(/** @type {HTMLElement} */ (this.list.children[this.queue.place]));
  }

  /** Only the list scrolls; the page stays where it is. @param {HTMLElement} row */
  scrollTo(row) {
    const { list } = this;
    const above = row.offsetTop - list.scrollTop;
    const below = above + row.clientHeight - list.clientHeight;
    if (above < 0) list.scrollTop += above;
    else if (below > 0) list.scrollTop += below;
  }

  /** @param {number} place */
  row(place) {
    const { finding } = this.queue.entries[place];
    const { label, image, other, confidence } = finding;
    const about = image === undefined ? h("span", {}, `= ${other}`) : h("span", { class: "id" }, image);
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "queue-row", onclick: () => this.queue.to(place) },
        h("span", { class: "queue-mark" }),
        h("span", { class: "queue-name" }, h("strong", {}, label), about),
        h("span", { class: "queue-share" }, percent(confidence)),
      ),
    );
  }

  showNote() {
    const { judges } = this.queue;
    const agreed = judges.agreed();
    const save = () => download("labels-to-merge.csv", csv([["label", "into"], ...agreed]));
    if (judges.kept === "nowhere") fill(this.note, "This service keeps no verdicts.");
    if (judges.kept === "browser")
      fill(
        this.note,
        "Kept in this browser. ",
        agreed.length > 0 &&
          h("button", { type: "button", class: "as-link", onclick: save }, `Download ${count(agreed.length)} to merge`),
      );
  }
}

/**
 * @param {string} look
 * @param {Drawing} drawing
 * @param {string} text
 * @param {string} key
 * @param {() => void} act
 */
function button(look, drawing, text, key, act) {
  const keyHint = h("kbd", { "aria-hidden": "true" }, key);
  return h("button", { type: "button", class: look, onclick: act }, icon(drawing), text, keyHint);
}

/** @param {Element} row @param {Entry} entry @param {boolean} current */
function markRow(row, entry, current) {
  const button = /** @type {HTMLElement} */ (row.firstElementChild);
  if (current) button.setAttribute("aria-current", "true");
  else button.removeAttribute("aria-current");
  if (button.dataset.mark === entry.mark) return;
  button.dataset.mark = entry.mark;
  const drawing = MARKS[entry.mark];
  const place = /** @type {Element} */ (button.firstElementChild);
  fill(place, drawing && icon(drawing), drawing && h("span", { class: "unseen" }, entry.mark));
}

/** @param {Entry} entry */
const sentence = ({ finding: { label, image, other, confidence, reason } }) =>
  [label, image ?? other, percent(confidence), reason].filter(Boolean).join(", ");
