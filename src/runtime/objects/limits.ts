/**
 * Limits of the object store: what lies in it, how full it may be before somebody makes room, and how its parts are divided.
 *
 * The daemon collects and spills (`store-ledger.ts`, `spill-plan.ts`), each process collects its own garbage (`local-store.ts`), and a node drops copies that nobody uses (`node/objects`): all at marks that follow
 * from the one from which objects go to disk.
 */

/** From this size on, values travel through the object store and are mapped by readers; smaller ones are copied along. */
export const STORE_FROM_BYTES = 64 * 1024;
/** Of a value in a process, which the daemon is told with the first ref to it; of larger ones outside the store the owner is asked. */
export const KNOWN_VALUE_BYTES_MAX = 4096;
/** Values of other processes that a daemon keeps in its memory; beyond it their owners are asked. */
export const KNOWN_BYTES_MAX = 32 * 1024 * 1024;
/** Below this a copy costs less than a mapping and its page faults. */
export const MAP_MIN_BYTES = STORE_FROM_BYTES;
/** The page of nearly every system; a mapping begins at one. */
export const PAGE_BYTES = 4096;
/** Of buffers in an object, which become typed arrays: a cache line, and the widest load of any processor. */
export const BUFFER_ALIGNMENT_BYTES = 64;
/** The same in words: positions that different processes write do not share a cache line. */
export const LINE_WORDS = BUFFER_ALIGNMENT_BYTES / 4;
/** A value of a million separate buffers of 4 KB or more; a header beyond 8 MB is not a header. */
export const BUFFERS_MAX = 1_048_576;

/** Of the quota: above it objects go to disk. Ray's threshold: the rest is room for what is written while the disk works. */
export const SPILL_ABOVE = 0.8;
/** Down to here, so that a store that is filled steadily spills in large steps and not at every object. */
export const SPILL_DOWN_TO = 0.6;
/** Processes collect garbage from the same mark on, before objects go to disk. */
export const COLLECT_ABOVE = SPILL_ABOVE;
/** A collection costs each process some 30 ms: the next one is asked for when this part of the quota, or of what is stored, was written since. */
export const COLLECT_AGAIN_AFTER = 0.05;
/** Copies that nobody uses may stay below the mark by as much. */
export const IDLE_COPIES_UP_TO = SPILL_ABOVE - COLLECT_AGAIN_AFTER;

/** A store of small quota has smaller arenas: what is spilled, or given back, is a whole one. */
export const ARENAS_IN_QUOTA = 8;
/** Of the quota: objects that are being fetched from other nodes. */
export const PULLS_PART_OF_STORE = 0.5;
/** Of the quota: large arguments that calls were given by value, so that these can run again. */
export const LINEAGE_PART_OF_STORE = 1 / 8;

/** An arena that was made for a large object takes another one of at least half its size. */
export const DEDICATED_FIT = 2;
/** Longer than the collector takes to find what a loop of puts dropped; recycled pages are five times as fast as fresh ones. */
export const EMPTY_ARENA_KEPT_MS = 5000;

/** Ids of objects in one message, well below the size of a frame: one object may hold a hundred thousand refs. */
export const IDS_IN_MESSAGE_MAX = 20_000;
/** How many messages with holds are read before the daemon is told. */
export const TELL_HELD_EVERY = 256;
/** Ended links of which it is remembered how far they were read. */
export const ENDED_LINKS_MAX = 1024;

/** Of an object that is fetched: what is asked for at once, and the unit of checksums and of resumption. */
export const CHUNK_BYTES = 1_048_576;
