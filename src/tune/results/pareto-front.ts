/** Pareto dominance between points whose coordinates are all minimized. */

/** Whether a point is at least as good as another everywhere, and better somewhere. */
export function dominates(one: readonly number[], other: readonly number[]): boolean {
  let isBetter = false;
  for (let index = 0; index < one.length; index += 1) {
    if ((one[index] as number) > (other[index] as number)) return false;
    if ((one[index] as number) < (other[index] as number)) isBetter = true;
  }
  return isBetter;
}
