/** Pareto dominance between points whose coordinates are all minimized. */

/** Whether a point is at least as good as another everywhere, and better somewhere. */
export function dominates(one: readonly number[], other: readonly number[]): boolean {
  return one.every((value, i) => value <= (other[i] as number)) && one.some((value, i) => value < (other[i] as number));
}
