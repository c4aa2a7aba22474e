/** Files that one task reads, one behind the other: thousands of small files are not as many tasks. */
import { SMALL_FILES_PER_TASK_MAX } from "../limits.ts";

/**
 * Groups of neighbours, about so many and of about as many files each.
 *
 * @param bytes - no group of several files has more bytes than `max`. Default: no limit
 */
export function inGroups<T>(
  items: readonly T[],
  groups: number,
  bytes?: { readonly of: (item: T) => number; readonly max: number },
): T[][] {
  const size = Math.max(1, Math.min(SMALL_FILES_PER_TASK_MAX, Math.ceil(items.length / groups)));
  const made: T[][] = [];
  let sum = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const own = bytes?.of(item) ?? 0;
    const last = made.at(-1);
    if (last === undefined || last.length >= size || sum + own > (bytes?.max ?? Number.POSITIVE_INFINITY)) {
      made.push([item]);
      sum = own;
    } else {
      last.push(item);
      sum += own;
    }
  }
  return made;
}
