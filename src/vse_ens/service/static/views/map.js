/** Map: labels in 2-D, with similar labels close together; and the same as a list. */

import { fill, h } from "../core/dom.js";
import { mapAddress, searchAddress, withLabel } from "../core/route.js";
import { pollUntilReady } from "../core/polling.js";
import { shortcuts } from "../core/shortcuts.js";
import { count, countOf } from "../core/format.js";
import { combobox } from "../parts/combobox.js";
import { labels } from "../parts/completers.js";
import { progress } from "../parts/progress.js";
import { toast } from "../parts/toast.js";
import { MapCanvas } from "./map_canvas.js";

const LISTED = 200;
const KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "+", "=", "-", "0", "Enter"];

/**
 * @param {HTMLElement} host
 * @param {AbortSignal} signal
 * @returns {import("../app.js").View}
 */
export function mount(host, signal) {
  const finder = combobox({
    label: "Find a label on the map",
    placeholder: "Go to a label",
    main: true,
    complete: labels((label) => {
      if (location.hash === mapAddress(label)) canvas?.flyTo(label);
      else location.hash = mapAddress(label);
    }),
  });
  /** @type {MapCanvas | null} */
  let canvas = null;
  const control = (/** @type {string} */ text, /** @type {string} */ name, /** @type {() => void} */ act) =>
    h("button", { type: "button", class: "icon-only", "aria-label": name, title: name, onclick: act }, text);
  const controls = h(
    "div",
    { class: "map-controls" },
    control("+", "Zoom in", () => canvas?.zoom(1.8)),
    control("−", "Zoom out", () => canvas?.zoom(1 / 1.8)),
    h("button", { type: "button", onclick: () => canvas?.showAll() }, "Whole map"),
  );
  const stage = h("div", { class: "map-stage" });
  const list = h("details", { class: "map-list" });
  // The map is the only thing here to move, so its keys need no focus.
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const target = /** @type {Element} */ (event.target);
    if (target.closest(".map-list") || (event.key === "Enter" && target.closest("a, button"))) return false;
    return canvas?.key(event) ?? false;
  };
  shortcuts(Object.fromEntries(KEYS.map((key) => [key, onKey])), signal);
  fill(
    host,
    h(
      "div",
      { class: "find" },
      h("h1", { class: "visually-hidden", tabindex: -1 }, "Map of labels"),
      finder.element,
      controls,
    ),
    stage,
    list,
  );

  return {
    async show(route, visit) {
      if (!canvas) {
        const working = progress("Computing the map. This runs once per model.");
        fill(stage, working.element);
        const { labels: places } = await pollUntilReady("map", {}, working.update, visit);
        canvas = new MapCanvas(places, (label) => (location.hash = searchAddress([withLabel(label)])), signal);
        fill(stage, canvas.element);
        canvas.fit();
        fillList(list, places, canvas);
      }
      if (route.label && !canvas.flyTo(route.label))
        toast(`The map does not show “${route.label}”; it has the most frequent labels only.`);
      return route.label ? `Map: ${route.label}` : "Map";
    },
  };
}

/** @param {HTMLElement} list @param {import("./map_canvas.js").Place[]} places @param {MapCanvas} canvas */
function fillList(list, places, canvas) {
  const order = [...places].sort((one, other) => other.images - one.images);
  const show = (/** @type {number} */ most) =>
    fill(
      list,
      h("summary", {}, `Show as a list: ${countOf(places.length, "label")}`),
      h(
        "ul",
        { class: "pills" },
        ...order.slice(0, most).map((place) =>
          h(
            "li",
            {},
            h(
              "a",
              {
                class: "pill",
                href: searchAddress([withLabel(place.label)]),
                onpointerenter: () => canvas.mark(place),
                onfocus: () => canvas.mark(place),
              },
              place.label,
              h("span", {}, count(place.images)),
            ),
          ),
        ),
      ),
      order.length > most &&
        h(
          "p",
          { class: "more-row" },
          h("button", { type: "button", onclick: () => show(order.length) }, `Show all ${count(order.length)}`),
        ),
    );
  show(LISTED);
}
