/**
 * Headers of the messages about the object store of a node; their numbers are in the catalogue (`messages.ts`).
 *
 * What processes tell their daemon of their use of it, and what it tells them and the user of its state. PROTOCOL.md tells the same to readers of other languages.
 */

/** What a process reads from the store. Hints: nothing depends on them being in time. */
export interface StoreUseHeader {
  /** Arenas of which it has so many mapped objects now. */
  mapped: [arena: string, count: number][];
  /** What it has read from fused files since it last told. */
  restored: [objects: number, bytes: number];
}

/** The store's part of the answer to RESOURCES. */
export interface StoreReport {
  quotaBytes: number;
  usedBytes: number;
  diskBytes: number;
  objects: number;
  spilledBytes: number;
  spilledObjects: number;
  restoredBytes: number;
  restoredObjects: number;
  spillFiles: number;
  spillFileBytes: number;
}

export interface StoreStatusHeader {
  usedBytes: number;
  quotaBytes: number;
  /** What the receiver has written to memory less what it freed of its own, as far as it is in `usedBytes`. */
  seenBytes: number;
}
