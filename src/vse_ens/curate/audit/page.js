// Hides what does not contain every typed word. Without scripts, everything is shown.
const box = document.querySelector(".filter input"), said = document.querySelector(".filter output");
document.querySelector(".filter").hidden = false;
const rows = [...document.querySelectorAll(".card, tbody tr")];
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const text = (row.dataset.text || row.textContent).toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    shown += !row.hidden;
  }
  for (const group of document.querySelectorAll(".group")) group.hidden = !group.querySelector(".card:not([hidden])");
  said.textContent = words.length ? `${shown} of ${rows.length} findings` : "";
});
