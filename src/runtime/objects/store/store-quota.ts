/**
 * How much memory the object store of a node may take, when nobody says.
 *
 * A limit and not an allocation. Called when a session begins; the daemon's ledger and every writer are given the result.
 */
import { usableMemoryBytes } from "../../os/machine/machine.ts";
import { memoryRoot } from "../../os/files/sessions/session-sweep.ts";
import { freeBytesOf } from "../../os/files/store/store-file.ts";

/** Ray's fraction as well: the rest is for the heaps of the workers. */
const MEMORY_FRACTION = 0.3;
/** Other users of the shared memory must find room. A second session beside this one takes half of the rest again. */
const SHARED_MEMORY_FRACTION = 0.5;

/** Returns 30 % of the memory that this process may use, but at most half of the free bytes of the shared-memory file system. */
export function defaultStoreBytes(): number {
  return Math.floor(Math.min(usableMemoryBytes() * MEMORY_FRACTION, freeBytesOf(memoryRoot()) * SHARED_MEMORY_FRACTION));
}
