/** Entry point: routing between views, and what all views share. */

import { ApiError } from "./core/api.js";
import { fill, h } from "./core/dom.js";
import { parse } from "./core/route.js";
import { arrive, rememberScroll } from "./core/scroll.js";
import { shortcuts } from "./core/shortcuts.js";
import { showHelp } from "./parts/help.js";
import { icon } from "./parts/icon.js";
import { message } from "./parts/message.js";
import { notice } from "./parts/notice.js";
import { personButton } from "./parts/person.js";
import { themeButton } from "./parts/theme.js";
import { isAborted, toast } from "./parts/toast.js";
import * as about from "./views/about.js";
import * as annotate from "./views/annotate.js";
import * as audit from "./views/audit.js";
import * as browse from "./views/browse.js";
import * as vocabulary from "./views/vocabulary.js";

/** @typedef {import("./core/route.js").Route} Route */
/** @typedef {{show(route: Route, signal: AbortSignal): Promise<string | void>}} View  returns the window title */

/** @type {Record<string, {name: string, mount(host: HTMLElement, signal: AbortSignal): View}>} */
const VIEWS = {
  start: { name: "annotate", ...annotate },
  image: { name: "annotate", ...annotate },
  labels: { name: "annotate", ...annotate },
  together: { name: "annotate", ...annotate },
  search: { name: "search", ...browse },
  audit: { name: "audit", ...audit },
  vocabulary: { name: "vocabulary", ...vocabulary },
  about: { name: "about", ...about },
};

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
/** The current view and the controller that ends it. */
let mounted = { name: "", view: /** @type {View | null} */ (null), life: new AbortController() };
let visit = new AbortController();
let visits = 0;
let view = "";

async function navigate() {
  visit.abort();
  visit = new AbortController();
  visits += 1;
  const { signal } = visit;
  const route = parse(location.hash);
  const { isNew, scroll } = arrive();
  // Labels are added one by one: keep the scroll position.
  const stays = route.view === "labels" && view === "labels";
  view = route.view;
  if (isNew && !stays) scroll();
  const entry = VIEWS[route.view];
  markNavigation(entry?.name);
  try {
    if (!entry) throw new ApiError("This page does not exist.", 404);
    const title = await mount(entry).show(route, signal);
    if (signal.aborted) return;
    document.title = title ? `${title} · vse-ens` : "vse-ens";
    if (!isNew) scroll();
  } catch (error) {
    if (signal.aborted || isAborted(error)) return;
    showError(error);
  }
}

/**
 * Return the view, mounted again only if another one was shown.
 * @param {typeof VIEWS[string]} entry
 */
function mount(entry) {
  if (mounted.name !== entry.name || !mounted.view) {
    unmount();
    const host = h("div", { class: `view ${entry.name}` });
    fill(main, host);
    const life = new AbortController();
    mounted = { name: entry.name, view: entry.mount(host, life.signal), life };
    // Not on the first visit, where reading starts at the top anyway.
    if (visits > 1 && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  }
  return /** @type {View} */ (mounted.view);
}

function unmount() {
  mounted.life.abort();
  mounted = { name: "", view: null, life: new AbortController() };
}

/** @param {unknown} error */
function showError(error) {
  const sentence = error instanceof Error ? error.message : String(error);
  if (!(error instanceof ApiError)) console.error(error);
  unmount();
  fill(
    main,
    h(
      "div",
      { class: "view" },
      message("Something went wrong", sentence, h("p", {}, h("a", { href: "#/" }, "Start page"))),
    ),
  );
  document.title = "vse-ens";
  if (error instanceof ApiError && error.status !== 404) toast(sentence);
}

/** @param {string | undefined} name */
function markNavigation(name) {
  for (const link of document.querySelectorAll("nav [data-view]")) {
    if (/** @type {HTMLElement} */ (link).dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function focusSearchBox() {
  const box = /** @type {HTMLElement | null} */ (document.querySelector("[data-main]"));
  box?.focus();
}

const help = /** @type {HTMLElement} */ (document.getElementById("help"));
fill(help, icon("help"));
help.setAttribute("aria-label", "Keyboard shortcuts");
help.title = "Keyboard shortcuts (?)";
help.addEventListener("click", showHelp);
personButton(/** @type {HTMLElement} */ (document.getElementById("person")));
themeButton(/** @type {HTMLElement} */ (document.getElementById("theme")));
shortcuts({ "/": focusSearchBox, "?": showHelp });
// The URL fragment selects the view, so the skip link moves focus itself.
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.addEventListener("vse-model", () => notice("The model is newer: it has learnt from the verdicts so far."));
rememberScroll();
addEventListener("hashchange", navigate);
navigate();
