/**
 * Where things are in the model of `fencing-world.ts`, and which ways between them may be cut.
 *
 * The bus and the store are places of their own: a head may reach one and not the other.
 */
export type Head = "head0" | "head1";
export type Place = "node" | Head | "bus" | "store";
/** From one to another, directly or by way of the bus. */
export type Way = "direct" | "bus";

export const CUTS: readonly [Place, Place][] = [
  ["node", "head0"],
  ["node", "head1"],
  ["node", "bus"],
  ["node", "store"],
  ["head0", "bus"],
  ["head1", "bus"],
  ["head0", "store"],
  ["head1", "store"],
];
