/** Contributions to a score as small bars. */

import { h } from "../core/dom.js";
import { reasonName, signed, strongest } from "../core/format.js";

/**
 * @param {import("../core/api.js").Reason[]} reasons
 * @param {number} [most]
 */
export function reasonBars(reasons, most = 4) {
  const shown = strongest(reasons, most);
  const longest = Math.max(...shown.map((reason) => Math.abs(reason.share)), 1e-9);
  const rows = shown.map((reason) => {
    const bar = h("span", { class: "reason-bar" });
    bar.style.setProperty("--length", String(Math.abs(reason.share) / longest));
    return h(
      "li",
      { class: reason.share < 0 ? "against" : "for" },
      h("span", { class: "reason-name" }, reasonName(reason)),
      h("span", { class: "reason-track", "aria-hidden": "true" }, bar),
      h("span", { class: "reason-share" }, signed(reason.share)),
    );
  });
  return h("ul", { class: "reasons" }, ...rows);
}
