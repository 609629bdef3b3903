/** What a screen reader should say although focus is elsewhere. */

let timer = 0;

/**
 * Say a sentence; of several in a quick row the last.
 * @param {string} sentence
 */
export function announce(sentence) {
  const place = document.getElementById("announcer");
  if (!place) return;
  place.textContent = "";
  clearTimeout(timer);
  // A pause, or the same sentence twice would be said once.
  timer = setTimeout(() => (place.textContent = sentence), 60);
}
