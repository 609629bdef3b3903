/** Single-key shortcuts, active except while typing. */

/**
 * Listen until the signal aborts. A handler that returns false leaves the key to the browser.
 * @param {Record<string, (event: KeyboardEvent) => unknown>} keys by `KeyboardEvent.key`
 * @param {AbortSignal} [signal]
 */
export function shortcuts(keys, signal) {
  document.addEventListener(
    "keydown",
    (event) => {
      const handler = keys[event.key];
      if (!handler || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
      if (handler(event) !== false) event.preventDefault();
    },
    { signal },
  );
}

/** @param {EventTarget | null} target */
const isTyping = (target) =>
  target instanceof Element && Boolean(target.closest("input, textarea, select, [contenteditable]"));
