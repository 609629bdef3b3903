/** What the browser keeps between visits (local) or until the tab closes (session); it may refuse to. */

/**
 * @param {() => Storage} place asked for late: the mere mention throws where storage is forbidden
 * @param {string} name
 */
function keeper(place, name) {
  let here = "";
  return {
    /** @returns {string} what was kept, or nothing */
    get() {
      try {
        return place().getItem(name) ?? "";
      } catch {
        return here;
      }
    },
    /** @param {string} value */
    set(value) {
      here = value;
      try {
        place().setItem(name, value);
      } catch {
        // Until the page is left.
      }
    },
  };
}

const local = () => localStorage;
const session = () => sessionStorage;

export const keptKey = keeper(session, "vse-key");
export const keptName = keeper(local, "vse-name");
export const keptTheme = keeper(local, "vse-theme");
export const keptWelcome = keeper(local, "vse-welcomed");
export const keptMerges = keeper(local, "vse-merges");
