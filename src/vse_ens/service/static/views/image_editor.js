/** Editing the labels of one image: current labels, suggestions and rejected labels. */

import { announce } from "../core/announcer.js";
import { postChange } from "../core/api.js";
import { enqueue, forget, remember } from "../core/verdicts.js";
import { fill, h, refill } from "../core/dom.js";
import { setReviewed } from "../core/images.js";
import { storedWelcome } from "../core/storage.js";
import { labelsAddress, withLabel } from "../core/route.js";
import { percent } from "../core/format.js";
import { shouldAdvance } from "../parts/annotate_settings.js";
import { combobox } from "../parts/combobox.js";
import { labels as labelCompleter, orNew } from "../parts/completers.js";
import { labelChip } from "../parts/label_chip.js";
import { picture } from "../parts/picture.js";
import { orToast } from "../parts/toast.js";
import { undo } from "../parts/undo.js";

/** @typedef {import("../core/api.js").ImageState} ImageState */
/** @typedef {import("./workspace.js").Workspace} Workspace */

const MANY = 30;
const FEW = 24;

export class ImageEditor {
  /**
   * @param {Workspace} workspace
   * @param {ImageState} state
   * @param {boolean} feedback whether the service stores verdicts
   * @param {AbortSignal} signal
   */
  constructor(workspace, state, feedback, signal) {
    this.workspace = workspace;
    this.state = state;
    this.feedback = feedback;
    this.signal = signal;
    /** Labels with a verdict in flight, hidden from the suggestions. @type {Set<string>} */
    this.pending = new Set();
    this.held = h("ul", { class: "label-chips", "aria-label": "Labels of this image" });
    this.heldTitle = h("h2", {});
    /** Whether to show all labels. */
    this.all = false;
    this.isShown = false;
  }

  render() {
    const { state } = this;
    const held = () => this.state.labels.map((one) => one.label);
    const add = (/** @type {string} */ label) => this.submit(label, "accept", null);
    const adder = combobox({
      label: "Add another label",
      placeholder: "Add another label",
      plain: true,
      complete: orNew(labelCompleter(add, { exclude: held, image: () => this.state.image, isNew: true }), (label) => held().includes(label) || add(label)),
    });
    fill(
      this.workspace.subject,
      picture(state.url?.replace("size=320", "size=640"), state.image, true),
      h(
        "div",
        { class: "subject-body" },
        h("p", { class: "kicker" }, state.known ? "Image" : "Image unknown to the model"),
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
    const isNew = state !== this.state || !this.isShown;
    this.isShown = true;
    this.state = state;
    const { workspace } = this;
    const focused = workspace.element.contains(document.activeElement);
    this.heldTitle.textContent = state.labels.length ? "Labels" : "No labels yet";
    this.showHeld();
    const suggestions = state.suggestions.filter((one) => !this.pending.has(one.label));
    // A label that goes away leaves a gap in the numbers; only a new ranking has new ones.
    workspace.list.show(suggestions, !isNew);
    workspace.none.hidden = suggestions.length > 0;
    workspace.none.textContent = "No more suggestions: this image has, or was refused, every label that the model knows.";
    if (state.known) setReviewed(state.image, state.rejected.length > 0 || state.labels.some((one) => one.event !== null));
    workspace.reviewed();
    this.showHint();
    refill(
      workspace.rejected,
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
            act: () => this.undoEvent(one.event, one.label),
          }),
        ),
      ),
    );
    workspace.rejected.hidden = !state.rejected.length;
    if (focused && !workspace.element.contains(document.activeElement)) workspace.list.focus();
  }

  /** Show the labels; of very many, the first few and all new ones. */
  showHeld() {
    const { labels } = this.state;
    const few =
      this.all || labels.length <= MANY
        ? labels
        : labels.filter((one, index) => index < FEW || one.source === "feedback");
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
        act: () => this.undoEvent(event, label),
      });
    return labelChip({
      label,
      kind: "data",
      drawing: "cross",
      action: `Remove ${label}`,
      act: () => this.submit(label, "reject", null),
    });
  }

  showHint() {
    if (!this.feedback) {
      const terms = this.state.labels.map((one) => withLabel(one.label));
      fill(
        this.workspace.hint,
        "This service does not store verdicts. ",
        h("a", { href: labelsAddress(terms) }, "Continue with these labels only"),
      );
    } else if (storedWelcome.get()) fill(this.workspace.hint);
    else {
      const isSure = this.state.suggestions.some((one) => one.confidence !== null);
      const meaning = isSure ? " The percentage is the chance that it is right." : "";
      fill(this.workspace.hint, `Click a label to accept it, × to reject it.${meaning}`);
    }
  }

  /** @param {import("../core/api.js").Suggestion} suggestion */
  accept = (suggestion) => this.submit(suggestion.label, "accept", suggestion.confidence);

  /** @param {import("../core/api.js").Suggestion} suggestion */
  reject = (suggestion) => this.submit(suggestion.label, "reject", suggestion.confidence);

  undo = () => undo((answer) => !this.signal.aborted && answer.state && this.show(answer.state));

  /** @param {string} label @param {"accept" | "reject"} verdict @param {number | null} confidence */
  submit(label, verdict, confidence) {
    if (this.pending.has(label)) return;
    this.pending.add(label);
    const suggested = this.state.suggestions.some((one) => one.label === label);
    this.show(this.state);
    const { image } = this.state;
    const address = location.hash;
    const body = { image, label, verdict, source: "page", confidence };
    enqueue(async () => {
      const said = `${verdict === "accept" ? "Accepted" : "Rejected"} ${label}.`;
      const answer = await this.change("feedback", body, said, label);
      if (!answer) return;
      remember({ event: answer.event, text: `${verdict} ${label} for ${image}`, address });
      const left = answer.state.suggestions.filter((one) => !this.pending.has(one.label));
      // Not after a verdict on a label of the data, or one that was typed.
      if (suggested && !this.pending.size && !this.signal.aborted && shouldAdvance(left)) this.workspace.next();
    });
  }

  /** @param {number} event @param {string} label */
  undoEvent(event, label) {
    enqueue(async () => {
      if (await this.change("feedback/undo", { event }, `Undone: ${label}.`)) forget(event);
    });
  }

  /**
   * Send a change to the service and show the new state.
   * @param {string} path @param {object} body @param {string} sentence @param {string} [label] the label in flight
   * @returns {Promise<import("../core/api.js").FeedbackResult | undefined>}
   */
  async change(path, body, sentence, label) {
    const answer = await orToast(() => postChange(path, body));
    if (label) this.pending.delete(label);
    if (answer) storedWelcome.set("yes");
    if (!this.signal.aborted) this.show(answer?.state ?? this.state);
    if (answer) announce(`${sentence} ${topSuggestion(answer.state)}`);
    return answer;
  }
}

/** The top suggestion, for screen readers. @param {ImageState} state */
function topSuggestion(state) {
  const [best] = state.suggestions;
  return best ? `Top suggestion: ${best.label} ${percent(best.confidence)}` : "No more suggestions.";
}
