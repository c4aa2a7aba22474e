/**
 * Headers of the messages about the object store of a node; their numbers are in the catalogue (`messages.ts`).
 *
 * Reports of processes to their daemon about their use of the store, and the daemon's reports about its state. PROTOCOL.md tells the same
 * to readers of other languages.
 */
import { count, fields, list, number, type Of, tuple } from "../header-shape.ts";
import { arenaName } from "../messages.ts";

/** Reads of a process from the store. These are hints: nothing depends on their timing. */
export const storeUse = fields({
  /** Number of mapped objects by arena. */
  mapped: list(tuple(arenaName, count)),
  /** Objects and bytes read from fused files since the last report. */
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
  /** The receiver's writes to memory less its frees, as far as `usedBytes` includes them. */
  seenBytes: number,
});
