/** What is on the desk while one image is judged: its labels, the suggestions, what was rejected. */

import { announce } from "../core/announcer.js";
import { tell } from "../core/api.js";
import { fill, h, refill } from "../core/dom.js";
import { keptWelcome } from "../core/kept.js";
import { having, labelsAddress } from "../core/route.js";
import { percent } from "../core/words.js";
import { combobox } from "../parts/combobox.js";
import { labels as labelCompleter, orNew } from "../parts/completers.js";
import { labelChip } from "../parts/label_chip.js";
import { picture } from "../parts/picture.js";
import { orToast } from "../parts/toast.js";

/** @typedef {import("../core/api.js").ImageState} ImageState */
/** @typedef {import("./desk.js").Desk} Desk */

const MANY = 30;
const FEW = 24;

export class Sheet {
  /**
   * @param {Desk} desk
   * @param {ImageState} state
   * @param {boolean} feedback whether the service keeps verdicts
   * @param {AbortSignal} signal
   */
  constructor(desk, state, feedback, signal) {
    this.desk = desk;
    this.state = state;
    this.feedback = feedback;
    this.signal = signal;
    /** Verdicts on their way: not shown as suggestions meanwhile. @type {Set<string>} */
    this.pending = new Set();
    /** Verdicts of this visit, the last one at the end. @type {number[]} */
    this.events = [];
    /** One after another, so that the last answer is the last word. @type {Promise<unknown>} */
    this.turn = Promise.resolve();
    this.held = h("ul", { class: "label-chips", "aria-label": "Labels of this image" });
    this.heldTitle = h("h2", {});
    /** Whether all labels are shown, however many. */
    this.all = false;
  }

  begin() {
    const { state } = this;
    const held = () => this.state.labels.map((one) => one.label);
    const add = (/** @type {string} */ label) => this.say(label, "accept", null);
    const adder = combobox({
      label: "Add another label",
      placeholder: "Add another label",
      plain: true,
      complete: orNew(labelCompleter(add, { leftOut: held }), (label) => held().includes(label) || add(label)),
    });
    fill(
      this.desk.subject,
      picture(state.url, state.image, true),
      h(
        "div",
        { class: "subject-body" },
        h("p", { class: "kicker" }, state.known ? "Image" : "Image the model has not seen"),
        h("h1", { class: "id", tabindex: -1 }, state.image),
        this.heldTitle,
        this.held,
        this.feedback && adder.element,
      ),
    );
    this.show(state);
  }

  /** @param {ImageState} state */
  show(state) {
    this.state = state;
    const { desk } = this;
    const focused = desk.element.contains(document.activeElement);
    this.heldTitle.textContent = state.labels.length ? "Labels" : "No labels yet";
    this.showHeld();
    const suggestions = state.suggestions.filter((one) => !this.pending.has(one.label));
    desk.list.show(suggestions);
    desk.none.hidden = suggestions.length > 0;
    desk.none.textContent = "Nothing is left to suggest for this image.";
    this.showHint();
    refill(
      desk.rejected,
      h("h2", {}, "Rejected"),
      h(
        "ul",
        { class: "label-chips" },
        ...state.rejected.map((one) =>
          labelChip({
            label: one.label,
            kind: "rejected",
            drawing: "undo",
            action: `Undo: reject ${one.label}`,
            act: () => this.takeBack(one.event, one.label),
          }),
        ),
      ),
    );
    desk.rejected.hidden = !state.rejected.length;
    if (focused && !desk.element.contains(document.activeElement)) desk.list.focus();
  }

  /** Of very many labels the first few, and all that are new. */
  showHeld() {
    const { labels } = this.state;
    const few =
      this.all || labels.length <= MANY
        ? labels
        : labels.filter((one, place) => place < FEW || one.source === "feedback");
    const rest = labels.length - few.length;
    const more = () => {
      this.all = true;
      this.showHeld();
    };
    refill(
      this.held,
      ...few.map((one) => this.heldChip(one)),
      rest > 0 && h("li", {}, h("button", { type: "button", class: "as-link", onclick: more }, `and ${rest} more`)),
    );
  }

  /** @param {import("../core/api.js").HeldLabel} one */
  heldChip({ label, source, event }) {
    if (source === "feedback" && event !== null)
      return labelChip({
        label,
        kind: "new",
        drawing: "undo",
        action: `Undo: accept ${label}`,
        act: () => this.takeBack(event, label),
      });
    return labelChip({
      label,
      kind: "data",
      drawing: "cross",
      action: `Take ${label} off`,
      act: () => this.say(label, "reject", null),
    });
  }

  showHint() {
    if (!this.feedback) {
      const terms = this.state.labels.map((one) => having(one.label));
      fill(
        this.desk.hint,
        "This service keeps no verdicts. ",
        h("a", { href: labelsAddress(terms) }, "Try with these labels"),
      );
    } else if (keptWelcome.get()) fill(this.desk.hint);
    else fill(this.desk.hint, "Click what fits, × what does not.");
  }

  /** @param {import("../core/api.js").Suggestion} suggestion */
  accept = (suggestion) => this.say(suggestion.label, "accept", suggestion.confidence);

  /** @param {import("../core/api.js").Suggestion} suggestion */
  reject = (suggestion) => this.say(suggestion.label, "reject", suggestion.confidence);

  undo = () =>
    this.inTurn(async () => {
      const event = this.events.pop();
      if (event === undefined) return announce("Nothing to undo.");
      return this.change("feedback/undo", { event }, "Undone.");
    });

  /** @param {string} label @param {"accept" | "reject"} verdict @param {number | null} confidence */
  say(label, verdict, confidence) {
    if (this.pending.has(label)) return;
    this.pending.add(label);
    this.show(this.state);
    const body = { image: this.state.image, label, verdict, source: "page", confidence };
    this.inTurn(async () => {
      const answer = await this.change(
        "feedback",
        body,
        `${verdict === "accept" ? "Accepted" : "Rejected"} ${label}.`,
        label,
      );
      if (answer) this.events.push(answer.event);
    });
  }

  /** @param {number} event @param {string} label */
  takeBack(event, label) {
    this.inTurn(async () => {
      this.events = this.events.filter((other) => other !== event);
      await this.change("feedback/undo", { event }, `Undone: ${label}.`);
    });
  }

  /** @param {() => Promise<unknown>} work */
  inTurn(work) {
    this.turn = this.turn.then(work);
  }

  /**
   * Tell the service, and show what it makes of it.
   * @param {string} path @param {object} body @param {string} sentence @param {string} [label] on its way until now
   * @returns {Promise<import("../core/api.js").Judgement | undefined>}
   */
  async change(path, body, sentence, label) {
    const answer = await orToast(() => tell(path, body));
    if (label) this.pending.delete(label);
    if (answer) keptWelcome.set("yes");
    if (!this.signal.aborted) this.show(answer?.state ?? this.state);
    if (answer) announce(`${sentence} ${first(answer.state)}`);
    return answer;
  }
}

/** What the list says now, for those who do not see it. @param {ImageState} state */
function first(state) {
  const [best] = state.suggestions;
  return best ? `First suggestion now: ${best.label} ${percent(best.confidence)}` : "Nothing is left to suggest.";
}
