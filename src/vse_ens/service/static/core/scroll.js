/** Where a page was left is where one comes back to; a page one has not been to begins at its top. */

let timer = 0;

/** Note where the page is scrolled to, with its place in the history. */
export function rememberScroll() {
  history.scrollRestoration = "manual";
  addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(() => history.replaceState({ top: scrollY }, ""), 100);
  });
}

/**
 * Ask at the beginning of a visit, and scroll when there is something to see.
 * @returns {{isNew: boolean, scroll(): void}}
 */
export function arrive() {
  clearTimeout(timer);
  const top = history.state?.top;
  history.replaceState({ top: top ?? 0 }, "");
  return { isNew: top === undefined, scroll: () => scrollTo(0, top ?? 0) };
}
