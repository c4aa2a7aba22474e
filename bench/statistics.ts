/** The one statistic of the benchmark: the middle value, which a neighbour's burst does not move. Pure. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("Cannot take the median: received no values");
  const sorted = [...values].sort((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle]!;
  return sorted.length % 2 === 1 ? upper : (sorted[middle - 1]! + upper) / 2;
}
