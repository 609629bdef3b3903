/** Namespaces of labels: `place|beach` and `character:alice`, as the command line knows them. */

/**
 * The part of a label up to its first separator, such as `place|` or `character:`; empty if it has none.
 * @param {string} label
 */
export function namespaceOf(label) {
  const bar = label.indexOf("|");
  if (bar > 0 && bar < label.length - 1) return label.slice(0, bar + 1);
  return /^[\p{L}_][\p{L}\p{N}_ .-]*:(?=\S)/u.exec(label)?.[0] ?? "";
}

/**
 * Group by namespace, each group in the order of its first item; items without a namespace are one group.
 * @template {{label: string}} T
 * @param {T[]} items
 * @returns {{namespace: string, items: T[]}[]}
 */
export function byNamespace(items) {
  /** @type {Map<string, T[]>} */
  const groups = new Map();
  for (const item of items) {
    const namespace = namespaceOf(item.label);
    groups.set(namespace, [...(groups.get(namespace) ?? []), item]);
  }
  return [...groups].map(([namespace, grouped]) => ({ namespace, items: grouped }));
}
