/** Statistics of this node's object store, as its daemon counts them: `objectStoreStatistics`. */
import { MESSAGE } from "../../runtime/wire/messages.ts";
import { askNode } from "../current-runtime.ts";

/** Bytes and counts of a node's object store. Counts of moved objects are since its start. */
export interface ObjectStoreStatistics {
  /** The limit for objects in shared memory. */
  readonly quotaBytes: number;
  /** Objects in shared memory, in whole pages. */
  readonly usedBytes: number;
  /** Objects on the spill disk, whether they were spilled or put there when memory was full. */
  readonly diskBytes: number;
  /** All objects that somebody still refers to. */
  readonly objects: number;
  /** Moved from memory to disk. */
  readonly spilledBytes: number;
  readonly spilledObjects: number;
  /** Read from disk by any process, after they had been spilled. */
  readonly restoredBytes: number;
  readonly restoredObjects: number;
  /** Files of spilled objects that exist now, and what they take. */
  readonly spillFiles: number;
  readonly spillFileBytes: number;
}

/**
 * How full the object store of this node is, and what it has moved to disk and read back.
 *
 * @throws NodeDiedError when the node has ended
 * @example
 * const { usedBytes, quotaBytes } = await objectStoreStatistics();
 * console.log(`${Math.round((100 * usedBytes) / quotaBytes)} % of the object store are in use`);
 */
export async function objectStoreStatistics(): Promise<ObjectStoreStatistics> {
  return (await askNode(MESSAGE.RESOURCES, undefined)).header.store;
}
