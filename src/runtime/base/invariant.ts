/**
 * Assertions on the state of machines, for `checkInvariants()`.
 */

/** @throws Error for a state that no event may lead to: a defect of Shoal's own */
export function invariant(holds: boolean, claim: string): void {
  if (!holds) throw new Error(`An invariant is broken: ${claim}`);
}
