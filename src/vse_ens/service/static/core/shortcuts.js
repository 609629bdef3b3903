/** Single-key shortcuts, active except while typing. */

/** Keys that act again while they are held; all others act once, so that a held key decides nothing twice. */
const REPEATING = /^(Arrow|Page|[jk+-]$)/;

/**
 * Listen until the signal aborts. Only keys that move repeat while they are held. A handler that returns false leaves the key to the browser.
 * @param {Record<string, (event: KeyboardEvent) => unknown>} keys by `KeyboardEvent.key`, after "Ctrl+" for Ctrl or ⌘
 * @param {AbortSignal} [signal]
 */
export function shortcuts(keys, signal) {
  document.addEventListener(
    "keydown",
    (event) => {
      const handler = keys[(event.ctrlKey || event.metaKey ? "Ctrl+" : "") + event.key];
      if (!handler || event.defaultPrevented || event.altKey) return;
      if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
      if (event.repeat && !REPEATING.test(event.key)) event.preventDefault();
      else if (handler(event) !== false) event.preventDefault();
    },
    { signal },
  );
}

/**
 * Listen to the digits 1 to 9, by their place on the keyboard, because Shift changes the character.
 * @param {(digit: number, shift: boolean) => void} handler
 * @param {AbortSignal} signal
 */
export function digits(handler, signal) {
  document.addEventListener(
    "keydown",
    (event) => {
      const digit = Number(/^(?:Digit|Numpad)([1-9])$/.exec(event.code)?.[1] ?? 0);
      if (!digit || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      if (!event.repeat) handler(digit, event.shiftKey);
    },
    { signal },
  );
}

/** @param {EventTarget | null} target */
const isTyping = (target) =>
  target instanceof Element && Boolean(target.closest("input, textarea, select, [contenteditable]"));
