/** Scroll positions: restored when going back, the top for new pages. */

let timer = 0;

/** Store the scroll position in the history entry. */
export function rememberScroll() {
  history.scrollRestoration = "manual";
  addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(() => history.replaceState({ top: scrollY }, ""), 100);
  });
}

/**
 * Call at the start of a visit; call `scroll` once the content is there.
 * @returns {{isNew: boolean, scroll(): void}}
 */
export function arrive() {
  clearTimeout(timer);
  const top = history.state?.top;
  history.replaceState({ top: top ?? 0 }, "");
  return { isNew: top === undefined, scroll: () => scrollTo(0, top ?? 0) };
}
