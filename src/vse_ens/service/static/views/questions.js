/** Twenty questions: find an image by answering whether it has a label. The answers are in the URL. */

import { announce } from "../core/announcer.js";
import { postQuery } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { count, countOf, percent } from "../core/format.js";
import { setImageList } from "../core/images.js";
import { modelCard } from "../core/model.js";
import { questionsAddress } from "../core/route.js";
import { shortcuts } from "../core/shortcuts.js";
import { icon } from "../parts/icon.js";
import { imageCard } from "../parts/image_card.js";
import { labelChip } from "../parts/label_chip.js";

/** @typedef {import("../core/route.js").Term} Term */

const TOP = 12;
/** Images with a smaller chance are not worth looking at. */
const UNLIKELY = 0.001;

/**
 * @param {HTMLElement} host
 * @param {AbortSignal} signal
 * @returns {import("../app.js").View}
 */
export function mount(host, signal) {
  /** @type {Term[]} */
  let terms = [];
  /** @type {string[]} */
  let skipped = [];
  /** @type {string | null} */
  let question = null;

  const go = (/** @type {Term[]} */ answers, /** @type {string[]} */ without) =>
    (location.hash = questionsAddress(answers, without));
  const answer = (/** @type {boolean} */ yes) => () => {
    if (question === null) return;
    const term = { label: question, without: !yes };
    question = null; // a second key press would answer a question that nobody has read
    go([...terms, term], skipped);
  };
  const skip = () => {
    if (question === null) return;
    const label = question;
    question = null;
    go(terms, [...skipped, label]);
  };
  const undo = () => (terms.length ? go(terms.slice(0, -1), skipped) : announce("Nothing to undo."));

  const button = (
    /** @type {string} */ style,
    /** @type {Parameters<typeof icon>[0]} */ drawing,
    /** @type {string} */ text,
    /** @type {string} */ key,
    /** @type {() => void} */ act,
  ) =>
    h(
      "button",
      { type: "button", class: style, onclick: act },
      icon(drawing),
      text,
      h("kbd", { "aria-hidden": "true" }, key),
    );
  const title = h("h1", { tabindex: -1 });
  const number = h("p", { class: "kicker" });
  const buttons = h(
    "div",
    { class: "verdicts" },
    button("primary", "check", "Yes", "y", answer(true)),
    button("", "cross", "No", "n", answer(false)),
    button("quiet", "forth", "Not sure", "s", skip),
    button("quiet", "undo", "Undo", "u", undo),
  );
  const left = h("p", { class: "questions-left", role: "status" });
  const answers = h("ul", { class: "label-chips", "aria-label": "Your answers" });
  const results = h("section", { class: "results", "aria-label": "Images that fit" });
  fill(
    host,
    h("section", { class: "question", "aria-label": "Question" }, number, title, buttons, answers),
    left,
    results,
  );
  shortcuts({ y: answer(true), n: answer(false), s: skip, u: undo }, signal);

  return {
    async show(route, visit) {
      terms = route.terms ?? [];
      skipped = route.skipped ?? [];
      results.setAttribute("aria-busy", "true");
      const yes = terms.filter((term) => !term.without).map((term) => term.label);
      const no = terms.filter((term) => term.without).map((term) => term.label);
      const [found, { image_url: template }] = await Promise.all([
        postQuery("questions", { yes, no, skipped, top: TOP }, visit),
        modelCard(),
      ]);
      visit.throwIfAborted();
      question = found.question;
      number.textContent = `Twenty questions · ${countOf(terms.length, "answer")}`;
      fill(
        title,
        question === null
          ? h("span", {}, "No question would tell more. Is it one of these?")
          : h("span", {}, "Is there ", h("em", {}, question), " in your image?"),
      );
      for (const one of [...buttons.children].slice(0, 3)) /** @type {HTMLElement} */ (one).hidden = question === null;
      /** @type {HTMLElement} */ (buttons.lastElementChild).hidden = !terms.length;
      fill(
        answers,
        ...terms.map((term) =>
          answerChip(term, () =>
            go(
              terms.filter((one) => one !== term),
              skipped,
            ),
          ),
        ),
      );
      fill(left, h("strong", {}, count(found.remaining)), found.remaining === 1 ? " image fits" : " images fit");
      /** @type {{image: string, labels: string[], confidence: number}[]} */
      const images = found.images.filter((/** @type {{confidence: number}} */ one) => one.confidence >= UNLIKELY);
      const onOpen = () => setImageList(images.map((one) => one.image));
      fill(
        results,
        terms.length > 0 &&
          h(
            "ul",
            { class: "cards" },
            ...images.map((one) =>
              imageCard(
                { ...one, share: one.confidence, shareName: "chance that it is the image" },
                template,
                yes,
                onOpen,
              ),
            ),
          ),
        terms.length === 0 &&
          h("p", { class: "lead" }, "Think of an image. The answers narrow the images down; a wrong one does no harm."),
      );
      results.removeAttribute("aria-busy");
      announce(
        `${title.textContent} ${countOf(found.remaining, "image fits", "images fit")}${
          question === null ? "" : `, ${percent(found.share)} have it`
        }.`,
      );
      return question === null ? "Twenty questions" : `${question}?`;
    },
  };
}

/** @param {Term} term @param {() => void} remove */
const answerChip = (term, remove) =>
  labelChip({
    label: term.label,
    kind: term.without ? "without" : "with",
    drawing: "cross",
    action: `Remove the answer ${term.without ? "no" : "yes"} to ${term.label}`,
    act: remove,
    linked: false,
  });
