/** One image: the labels it has, those it may lack; every verdict is kept by the service and changes the list at once. */

import { announce } from "../core/announcer.js";
import { ApiError, get, tell } from "../core/api.js";
import { fill, h, refill } from "../core/dom.js";
import { walkThrough } from "../core/images.js";
import { keptWelcome } from "../core/kept.js";
import { modelCard } from "../core/model.js";
import { having, imageAddress, labelsAddress } from "../core/route.js";
import { percent } from "../core/words.js";
import { combobox } from "../parts/combobox.js";
import { labels as labelCompleter } from "../parts/completers.js";
import { imageCard } from "../parts/image_card.js";
import { labelChip } from "../parts/label_chip.js";
import { picture } from "../parts/picture.js";
import { isStopped, orToast } from "../parts/toast.js";

/** @typedef {import("../core/api.js").ImageState} ImageState */
/** @typedef {import("./desk.js").Desk} Desk */

const TOP = 12;
const ALIKE = 6;
const MANY = 30;
const FEW = 24;

/**
 * @param {Desk} desk
 * @param {string} image
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
export async function showImage(desk, image, signal) {
  desk.list.wait();
  desk.terms = () => [];
  /** @type {ImageState} */
  let state;
  try {
    state = await get("image", { id: image, top: TOP }, signal);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    showUnknown(desk, image, error);
    return image;
  }
  const { feedback, image_url: template } = await modelCard();
  signal.throwIfAborted();
  const sheet = new Sheet(desk, image, feedback, signal);
  desk.judge = sheet;
  sheet.begin(state);
  showAlike(desk, image, template, signal);
  return image;
}

/** What is on the desk while one image is judged. */
class Sheet {
  /** @param {Desk} desk @param {string} image @param {boolean} feedback whether the service keeps verdicts @param {AbortSignal} signal */
  constructor(desk, image, feedback, signal) {
    this.desk = desk;
    this.image = image;
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

  /** @param {ImageState} state */
  begin(state) {
    const held = () => this.state.labels.map((one) => one.label);
    const adder = combobox({
      label: "Add another label",
      placeholder: "Add another label",
      plain: true,
      complete: labelCompleter((label) => this.say(label, "accept", null), { leftOut: held }),
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
      h("ul", { class: "label-chips" }, ...state.rejected.map((one) =>
        labelChip({ label: one.label, kind: "rejected", drawing: "undo", action: `Undo: reject ${one.label}`, act: () => this.takeBack(one.event, one.label) }),
      )),
    );
    desk.rejected.hidden = !state.rejected.length;
    if (focused && !desk.element.contains(document.activeElement)) desk.list.focus();
  }

  /** Of very many labels the first few, and all that are new. */
  showHeld() {
    const { labels } = this.state;
    const few = this.all || labels.length <= MANY ? labels : labels.filter((one, place) => place < FEW || one.source === "feedback");
    const rest = labels.length - few.length;
    const more = () => {
      this.all = true;
      this.showHeld();
    };
    refill(this.held, ...few.map((one) => this.heldChip(one)), rest > 0 && h("li", {}, h("button", { type: "button", class: "as-link", onclick: more }, `and ${rest} more`)));
  }

  /** @param {import("../core/api.js").HeldLabel} one */
  heldChip({ label, source, event }) {
    if (source === "feedback" && event !== null)
      return labelChip({ label, kind: "new", drawing: "undo", action: `Undo: accept ${label}`, act: () => this.takeBack(event, label) });
    return labelChip({ label, kind: "data", drawing: "cross", action: `Take ${label} off`, act: () => this.say(label, "reject", null) });
  }

  showHint() {
    if (!this.feedback) {
      const terms = this.state.labels.map((one) => having(one.label));
      fill(this.desk.hint, "This service keeps no verdicts. ", h("a", { href: labelsAddress(terms) }, "Try with these labels"));
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
    const body = { image: this.image, label, verdict, source: "page", confidence };
    this.inTurn(async () => {
      const answer = await this.change("feedback", body, `${verdict === "accept" ? "Accepted" : "Rejected"} ${label}.`, label);
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

/** @param {Desk} desk @param {string} image @param {string | null} template @param {AbortSignal} signal */
async function showAlike(desk, image, template, signal) {
  try {
    const { similar } = await get("similar/images", { image, top: ALIKE }, signal);
    /** @type {{image: string, similarity: number, labels: string[]}[]} */
    const found = similar;
    const onOpen = () => walkThrough([image, ...found.map((one) => one.image)]);
    fill(
      desk.below,
      found.length > 0 && h("h2", {}, "Images like this one"),
      h("ul", { class: "cards small" }, ...found.map((one) => imageCard({ image: one.image, labels: one.labels }, template, [], onOpen))),
    );
  } catch (error) {
    if (isStopped(error)) return;
    // An image that only the feedback knows is like no other.
    fill(desk.below);
  }
}

/** @param {Desk} desk @param {string} image @param {ApiError} error */
function showUnknown(desk, image, error) {
  desk.judge = { accept() {}, reject() {}, undo() {} };
  desk.list.show([]);
  desk.none.hidden = false;
  desk.none.textContent = "Without an image there is nothing to suggest.";
  desk.rejected.hidden = true;
  fill(desk.hint);
  fill(desk.below);
  fill(
    desk.subject,
    h(
      "div",
      { class: "subject-body" },
      h("p", { class: "kicker" }, "No such image"),
      h("h1", { class: "id", tabindex: -1 }, image),
      h("p", {}, error.message),
      error.nearest.length > 0 && h("h2", {}, "Perhaps you meant"),
      h("ul", { class: "plain-list" }, ...error.nearest.map((near) => h("li", {}, h("a", { class: "id", href: imageAddress(near) }, near)))),
    ),
  );
}
