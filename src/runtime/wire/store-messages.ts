/**
 * Headers of the messages about the object store of a node; their numbers are in the catalogue (`messages.ts`).
 *
 * What processes tell their daemon of their use of it, and what it tells them and the user of its state. PROTOCOL.md tells the same to readers of other languages.
 */
import { count, fields, list, number, type Of, tuple } from "./header-shape.ts";
import { arenaName } from "./messages.ts";

/** What a process reads from the store. Hints: nothing depends on them being in time. */
export const storeUse = fields({
  /** Arenas of which it has so many mapped objects now. */
  mapped: list(tuple(arenaName, count)),
  /** Objects and bytes that it has read from fused files since it last told. */
  restored: tuple(count, count),
});
export type StoreUseHeader = Of<typeof storeUse>;

/** The store's part of the answer to RESOURCES. */
export const storeReport = fields({
  quotaBytes: number,
  usedBytes: number,
  diskBytes: number,
  objects: number,
  spilledBytes: number,
  spilledObjects: number,
  restoredBytes: number,
  restoredObjects: number,
  spillFiles: number,
  spillFileBytes: number,
});
export type StoreReport = Of<typeof storeReport>;

export const storeStatus = fields({
  usedBytes: number,
  quotaBytes: number,
  /** What the receiver has written to memory less what it freed of its own, as far as it is in `usedBytes`. */
  seenBytes: number,
});
