/** The reasons for the suggestion that is hovered or focused, in a line of their own that covers nothing. */

import { fill, h } from "../core/dom.js";
import { reasonName, signed, strongest } from "../core/format.js";

const SHOWN = 4;
/** Delay, so that moving across a chip does not change the line. */
const PAUSE = 120;

/**
 * @typedef {object} WhyLine
 * @property {HTMLElement} element
 * @property {(element: HTMLElement, label: string, reasons: import("../core/api.js").Reason[]) => void} attach
 * @property {() => void} clear
 */

/** @returns {WhyLine} */
export function whyLine() {
  // Screen readers get the same from the description of each button.
  const element = h("div", { class: "why", "aria-hidden": "true" });
  /** @type {HTMLElement | null} */
  let shown = null;
  let timer = 0;
  const clear = () => {
    clearTimeout(timer);
    shown = null;
    fill(element);
  };
  document.addEventListener("keydown", (event) => event.key === "Escape" && clear());
  return {
    element,
    clear,
    attach(chip, label, reasons) {
      const show = () => {
        shown = chip;
        fill(element, h("span", { class: "why-label" }, label), ...bars(reasons));
      };
      const hide = () => shown === chip && clear();
      chip.addEventListener("pointerenter", (event) => {
        clearTimeout(timer);
        if (event.pointerType !== "touch") timer = setTimeout(show, PAUSE);
      });
      chip.addEventListener("pointerleave", () => {
        clearTimeout(timer);
        hide();
      });
      chip.addEventListener("focusin", () => chip.querySelector(":focus-visible") && show());
      chip.addEventListener("focusout", hide);
    },
  };
}

/** @param {import("../core/api.js").Reason[]} reasons */
function bars(reasons) {
  if (!reasons.length) return [h("span", {}, "no known label supports it")];
  const most = strongest(reasons, SHOWN);
  const longest = Math.max(...most.map((reason) => Math.abs(reason.share)), 1e-9);
  return [
    h("span", { class: "why-because" }, "because of"),
    ...most.map((reason) => {
      const bar = h("span", { class: "reason-bar" });
      bar.style.setProperty("--length", String(Math.abs(reason.share) / longest));
      return h(
        "span",
        { class: `why-reason ${reason.share < 0 ? "against" : "for"}` },
        h("span", {}, reasonName(reason)),
        h("span", { class: "reason-track" }, bar),
        h("span", { class: "reason-share" }, signed(reason.share)),
      );
    }),
  ];
}
