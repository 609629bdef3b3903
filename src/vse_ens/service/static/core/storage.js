/** Values in local storage (between visits) or session storage (until the tab closes); works without storage too. */

/**
 * @param {() => Storage} storage a function, because access throws if storage is blocked
 * @param {string} name
 */
function storageItem(storage, name) {
  let fallback = "";
  return {
    /** @returns {string} the stored value, or an empty string */
    get() {
      try {
        return storage().getItem(name) ?? "";
      } catch {
        return fallback;
      }
    },
    /** @param {string} value */
    set(value) {
      fallback = value;
      try {
        storage().setItem(name, value);
      } catch {
        // The fallback lasts until the page is closed.
      }
    },
  };
}

const local = () => localStorage;
const session = () => sessionStorage;

export const storedKey = storageItem(session, "vse-key");
export const storedName = storageItem(local, "vse-name");
export const storedTheme = storageItem(local, "vse-theme");
export const storedWelcome = storageItem(local, "vse-welcomed");
export const storedVerdicts = storageItem(session, "vse-decisions");
export const storedOrder = storageItem(local, "vse-order");
export const storedAdvance = storageItem(local, "vse-advance");
