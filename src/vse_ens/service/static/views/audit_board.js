/** Shows the queue: the current finding, the buttons, and the list of all findings. */

import { announce } from "../core/announcer.js";
import { fill, h } from "../core/dom.js";
import { count, countOf, percent } from "../core/format.js";
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
    /** @type {Entry | null} the finding shown */
    this.shown = null;
    this.stage = h("section", { class: "stage", "aria-label": "Finding" });
    this.list = h("ol", { class: "queue-list" });
    this.bar = /** @type {HTMLProgressElement} */ (h("progress", { "aria-label": "Reviewed" }));
    this.tally = h("p", { class: "tally" });
    this.note = h("p", { class: "aside" });
    this.buttons = h(
      "div",
      { class: "verdicts" },
      button("primary", "check", "Agree", "a", () => queue.decide(true)),
      button("", "cross", "Disagree", "r", () => queue.decide(false)),
      button("quiet", "forth", "Skip", "Space", () => queue.skip()),
      button("quiet", "undo", "Undo", "u", () => queue.undo()),
    );
    this.side = h("aside", { class: "queue", "aria-label": "Queue" }, this.tally, this.bar, this.note, this.list);
    this.elements = [h("div", { class: "stage-column" }, this.stage, this.buttons), this.side];
    queue.onChange = () => this.show();
    this.show();
  }

  show() {
    const { current, entries, total, reviewed } = this.queue;
    this.bar.max = Math.max(1, total);
    this.bar.value = reviewed;
    fill(this.tally, h("strong", {}, count(reviewed)), ` of ${count(total)} reviewed`);
    this.showNote();
    this.buttons.hidden = this.side.hidden = !current;
    while (this.list.children.length < entries.length) this.list.append(this.row(this.list.children.length));
    for (const [index, row] of [...this.list.children].entries())
      markRow(row, entries[index], entries[index] === current);
    if (current) this.showCurrent(current);
    else fill(this.stage, h("p", { class: "none" }, "No findings left to review."));
  }

  /** @param {Entry} current */
  showCurrent(current) {
    this.stage.dataset.mark = current.mark;
    if (current === this.shown) return;
    if (this.shown) announce(sentence(current));
    this.shown = current;
    fill(this.stage, this.card(current.finding));
    this.scrollTo(/** @type {HTMLElement} */ (this.list.children[this.queue.index]));
  }

  /** Scroll the list only, not the page. @param {HTMLElement} row */
  scrollTo(row) {
    const { list } = this;
    const above = row.offsetTop - list.scrollTop;
    const below = above + row.clientHeight - list.clientHeight;
    if (above < 0) list.scrollTop += above;
    else if (below > 0) list.scrollTop += below;
  }

  /** @param {number} index */
  row(index) {
    const { finding } = this.queue.entries[index];
    const { label, image, other, confidence } = finding;
    const about = image === undefined ? h("span", {}, `= ${other}`) : h("span", { class: "id" }, image);
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "queue-row", onclick: () => this.queue.to(index) },
        h("span", { class: "queue-mark" }),
        h("span", { class: "queue-name" }, h("strong", {}, label), about),
        h("span", { class: "queue-share" }, percent(confidence)),
      ),
    );
  }

  showNote() {
    const { verdicts } = this.queue;
    const agreed = verdicts.agreed();
    const save = () => download("labels-to-merge.csv", csv([["label", "into"], ...agreed]));
    if (verdicts.storedIn === "nowhere") fill(this.note, "This service does not store verdicts.");
    if (verdicts.storedIn === "browser")
      fill(
        this.note,
        "Stored in this browser. ",
        agreed.length > 0 &&
          h(
            "button",
            { type: "button", class: "as-link", onclick: save },
            `Download ${countOf(agreed.length, "merge")}`,
          ),
      );
  }
}

/**
 * @param {string} style
 * @param {Drawing} drawing
 * @param {string} text
 * @param {string} key
 * @param {() => void} act
 */
function button(style, drawing, text, key, act) {
  const keyHint = h("kbd", { "aria-hidden": "true" }, key);
  return h("button", { type: "button", class: style, onclick: act }, icon(drawing), text, keyHint);
}

/** @param {Element} row @param {Entry} entry @param {boolean} current */
function markRow(row, entry, current) {
  const button = /** @type {HTMLElement} */ (row.firstElementChild);
  if (current) button.setAttribute("aria-current", "true");
  else button.removeAttribute("aria-current");
  if (button.dataset.mark === entry.mark) return;
  button.dataset.mark = entry.mark;
  const drawing = MARKS[entry.mark];
  const mark = /** @type {Element} */ (button.firstElementChild);
  fill(mark, drawing && icon(drawing), drawing && h("span", { class: "visually-hidden" }, entry.mark));
}

/** @param {Entry} entry */
const sentence = ({ finding: { label, image, other, confidence, reason } }) =>
  [label, image ?? other, percent(confidence), reason].filter(Boolean).join(", ");
