/** Announcements for screen readers. */

let timer = 0;

/**
 * Announce a sentence; of several in quick succession, only the last.
 * @param {string} sentence
 */
export function announce(sentence) {
  const region = document.getElementById("announcer");
  if (!region) return;
  region.textContent = "";
  clearTimeout(timer);
  // Without a pause, a repeated sentence would not be announced again.
  timer = setTimeout(() => (region.textContent = sentence), 60);
}
