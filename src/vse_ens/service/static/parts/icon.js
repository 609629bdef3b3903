/** Icons: 20 by 20 line drawings in the current text color. */

const DRAWINGS = {
  back: "M12 4.5 6.5 10l5.5 5.5",
  check: "m4.5 10.5 3.7 3.7 7.3-8.2",
  cross: "m5.5 5.5 9 9m0-9-9 9",
  dice: "M5.5 3.5h9a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2h-9a2 2 0 0 1-2-2v-9a2 2 0 0 1 2-2ZM7.4 7.4h0m5.2 0h0M10 10h0m-2.6 2.6h0m5.2 0h0",
  download: "M10 3.5v9m-3.7-3.7L10 12.5l3.7-3.7M4 16.5h12",
  forth: "M8 4.5l5.5 5.5L8 15.5",
  help: "M7.6 7.6a2.5 2.5 0 1 1 3.7 2.2c-.9.5-1.3 1-1.3 2M10 14.6h0M10 2.5a7.5 7.5 0 1 1 0 15 7.5 7.5 0 0 1 0-15",
  minus: "M5 10h10",
  moon: "M16.5 11.8A7 7 0 0 1 8.2 3.5a7 7 0 1 0 8.3 8.3Z",
  person: "M10 10.2a3.3 3.3 0 1 0 0-6.6 3.3 3.3 0 0 0 0 6.6ZM3.8 16.8c.7-2.7 3.2-4.2 6.2-4.2s5.5 1.5 6.2 4.2",
  plus: "M10 5v10M5 10h10",
  search: "M9 3.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11ZM13.2 13.2l3.8 3.8",
  sun: "M10 6.6a3.4 3.4 0 1 1 0 6.8 3.4 3.4 0 0 1 0-6.8ZM10 2.2v1.6m0 12.4v1.6M2.2 10h1.6m12.4 0h1.6M4.5 4.5l1.1 1.1m8.8 8.8 1.1 1.1m0-11-1.1 1.1m-8.8 8.8-1.1 1.1",
  undo: "M7.5 4 4 7.5 7.5 11M4.3 7.5h7.2a4.2 4.2 0 0 1 0 8.5H8",
};

const SVG = "http://www.w3.org/2000/svg";

/**
 * Create an icon, hidden from screen readers; the control around it has a name.
 * @param {keyof typeof DRAWINGS} name
 */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", DRAWINGS[name]);
  svg.append(path);
  return svg;
}
