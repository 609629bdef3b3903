/** Shows the queue: the current finding, the buttons, and the list of all findings. */

import { announce } from "../core/announcer.js";
import { fill, h, visuallyHidden } from "../core/dom.js";
import { count, percent } from "../core/format.js";
import { icon } from "../parts/icon.js";
import { isSame } from "./audit_card.js";

/** @typedef {import("./audit_queue.js").Entry} Entry */
/** @typedef {import("../core/api.js").Finding} Finding */
/** @typedef {Parameters<typeof icon>[0]} Drawing */

const merge = (/** @type {Finding} */ { label, other }) => `Merge ${label} into ${other}`;

/** What the two buttons do, by kind: the change, and leaving everything as it is. */
const ACTIONS = {
  missing: { change: (/** @type {Finding} */ { label }) => `Add ${label}`, keep: () => "Not there" },
  wrong: {
    change: (/** @type {Finding} */ { label }) => `Remove ${label}`,
    keep: (/** @type {Finding} */ { label }) => `Keep ${label}`,
  },
  duplicates: { change: merge, keep: () => "Keep both" },
  aliases: { change: merge, keep: () => "Keep both" },
  implications: { change: () => "Accept the rule", keep: () => "Not a rule" },
};

/** The names of verdicts, for screen readers. */
const DONE = {
  missing: { agreed: "added", disagreed: "not there" },
  wrong: { agreed: "removed", disagreed: "kept" },
  duplicates: { agreed: "merged", disagreed: "kept" },
  aliases: { agreed: "merged", disagreed: "kept" },
  implications: { agreed: "accepted", disagreed: "not a rule" },
};

/** @type {Record<import("./audit_queue.js").Mark, Drawing | null>} */
const MARKS = { open: null, agreed: "check", disagreed: "cross", skipped: "minus" };

export class Board {
  /**
   * @param {keyof typeof ACTIONS} kind
   * @param {import("./audit_queue.js").Queue} queue
   * @param {(finding: Finding) => HTMLElement} card
   */
  constructor(kind, queue, card) {
    this.kind = kind;
    this.queue = queue;
    this.card = card;
    /** @type {Entry | null} the finding shown */
    this.shown = null;
    this.stage = h("section", { class: "stage", "aria-label": "Finding" });
    this.list = h("ol", { class: "queue-list" });
    this.bar = /** @type {HTMLProgressElement} */ (h("progress", { "aria-label": "Reviewed" }));
    this.tally = h("p", { class: "tally" });
    this.note = h("p", { class: "aside" });
    this.change = h("span", { class: "verdict-name" });
    this.keep = h("span", { class: "verdict-name" });
    this.buttons = h(
      "div",
      { class: "verdicts" },
      button("primary", "check", this.change, "a", () => queue.decide(true)),
      button("", "cross", this.keep, "r", () => queue.decide(false)),
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
      markRow(row, entries[index], entries[index] === current, DONE[this.kind]);
    if (current) this.showCurrent(current);
    else fill(this.stage, h("p", { class: "none" }, "Nothing left to review: every finding has a verdict."));
  }

  /** @param {Entry} current */
  showCurrent(current) {
    this.stage.dataset.mark = current.mark;
    if (current === this.shown) return;
    if (this.shown) announce(sentence(current));
    this.shown = current;
    this.change.textContent = ACTIONS[this.kind].change(current.finding);
    this.keep.textContent = ACTIONS[this.kind].keep(current.finding);
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
    const isPair = image === undefined;
    const isRule = this.kind === "implications";
    const about = isPair ? h("span", {}, isRule ? `implies ${other}` : other) : h("span", { class: "id" }, image);
    const share = isPair && !isRule ? (isSame(finding) ? "the same" : "used alike") : percent(confidence);
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "queue-row", onclick: () => this.queue.to(index) },
        h("span", { class: "queue-mark" }),
        h("span", { class: "queue-name" }, h("strong", {}, label), about),
        h("span", { class: "queue-share" }, share),
      ),
    );
  }

  showNote() {
    const { stores } = this.queue.verdicts;
    if (!stores) fill(this.note, "This service does not store verdicts.");
    else if (this.kind !== "missing" && this.kind !== "wrong")
      fill(this.note, "Stored as rules: ", h("a", { href: "#/vocabulary/rules" }, "see all"), ".");
  }
}

/**
 * @param {string} style
 * @param {Drawing} drawing
 * @param {string | Node} text
 * @param {string} key
 * @param {() => void} act
 */
function button(style, drawing, text, key, act) {
  const keyHint = h("kbd", { "aria-hidden": "true" }, key);
  return h("button", { type: "button", class: style, onclick: act }, icon(drawing), text, keyHint);
}

/** @param {Element} row @param {Entry} entry @param {boolean} current @param {Record<string, string>} names */
function markRow(row, entry, current, names) {
  const button = /** @type {HTMLElement} */ (row.firstElementChild);
  if (current) button.setAttribute("aria-current", "true");
  else button.removeAttribute("aria-current");
  if (button.dataset.mark === entry.mark) return;
  button.dataset.mark = entry.mark;
  const drawing = MARKS[entry.mark];
  const mark = /** @type {Element} */ (button.firstElementChild);
  fill(mark, drawing && icon(drawing), drawing && visuallyHidden(names[entry.mark] ?? entry.mark));
}

/** @param {Entry} entry */
const sentence = ({ finding: { label, image, other, confidence, reason } }) =>
  [label, image ?? other, image && percent(confidence), reason].filter(Boolean).join(", ");
