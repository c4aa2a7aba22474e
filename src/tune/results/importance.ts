/**
 * How much each parameter matters for a metric: the part of the metric's variance that the parameter alone explains.
 *
 * Trials are put into groups of like values: for numbers at most `GROUPS_MAX` groups of equal size, for a choice one for each option. The
 * parameter's share is the variance between the groups' means, as a part of the whole variance. The share that groups of that size have by
 * chance is taken off. Pure.
 */

/** A trial: a value for each parameter (numbers, or texts of choices), and the metric. */
export interface ImportanceRow {
  readonly parameters: ReadonlyMap<string, number | string>;
  readonly metric: number;
}

const GROUPS_MAX = 8;

/** Parameters with their shares from 0 to 1, the largest first. Empty where there are too few trials to say anything. */
export function importanceOf(rows: readonly ImportanceRow[]): { readonly name: string; readonly share: number }[] {
  if (rows.length < 8) return [];
  // Ranks, so that a single disaster does not decide.
  const order = rows.map((_, i) => i).sort((a, b) => (rows[a] as ImportanceRow).metric - (rows[b] as ImportanceRow).metric);
  const ranks = new Array<number>(rows.length);
  for (const [rank, i] of order.entries()) ranks[i] = rank;
  const names = [...new Set(rows.flatMap(({ parameters }) => [...parameters.keys()]))];
  return names.map((name) => ({ name, share: shareOf(rows, ranks, name) })).sort((a, b) => b.share - a.share);
}

function shareOf(rows: readonly ImportanceRow[], ranks: readonly number[], name: string): number {
  const groups = groupsOf(rows.map(({ parameters }) => parameters.get(name)));
  if (groups.length < 2) return 0;
  const count = ranks.length;
  const mean = (count - 1) / 2;
  const total = ranks.reduce((sum, rank) => sum + (rank - mean) ** 2, 0);
  const between = groups.reduce((sum, members) => {
    const groupMean = members.reduce((of, i) => of + (ranks[i] as number), 0) / members.length;
    return sum + members.length * (groupMean - mean) ** 2;
  }, 0);
  const byChance = (groups.length - 1) / (count - 1);
  return Math.max(0, (between / total - byChance) / (1 - byChance));
}

/** Indexes of like values. A missing parameter counts as a separate value. */
function groupsOf(values: readonly (number | string | undefined)[]): number[][] {
  const numbers = values.flatMap((value, i) => (typeof value === "number" ? [{ value, i }] : []));
  const others = Map.groupBy(
    values.flatMap((value, i) => (typeof value === "number" ? [] : [{ value, i }])),
    ({ value }) => value,
  );
  const groups = Array.from(others.values(), (some) => some.map(({ i }) => i));
  const distinct = new Set(numbers.map(({ value }) => value)).size;
  if (distinct === 0) return groups;
  if (distinct <= GROUPS_MAX)
    return [...groups, ...Array.from(Map.groupBy(numbers, ({ value }) => value).values(), (some) => some.map(({ i }) => i))];
  numbers.sort((a, b) => a.value - b.value);
  const size = Math.max(2, Math.ceil(numbers.length / GROUPS_MAX));
  for (let from = 0; from < numbers.length; from += size) groups.push(numbers.slice(from, from + size).map(({ i }) => i));
  return groups;
}
