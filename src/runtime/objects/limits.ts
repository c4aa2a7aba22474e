/**
 * Limits of the object store: sizes of objects, fill levels at which room is made, and shares of the quota.
 *
 * The daemon collects and spills (`store-ledger.ts`, `spill-plan.ts`), each process collects its own garbage (`local-store.ts`), and a node drops unused
 * copies (`node/objects`). All these marks derive from `SPILL_ABOVE`, the level from which objects go to disk.
 */

/** From this size on, values travel through the object store and are mapped by readers; smaller ones are copied along. */
export const STORE_FROM_BYTES = 64 * 1024;
/** Up to this size a value's buffers travel among its other bytes, in the form of messages that costs least. Above it they are separate parts. */
export const IN_FRAME_BYTES_MAX = STORE_FROM_BYTES - 4096;
/** Limit on values that the daemon gets with the first ref to them. For larger values outside the store a reader asks the owner. */
export const KNOWN_VALUE_BYTES_MAX = 4096;
/** Values of other processes that a daemon keeps in its memory; beyond it their owners are asked. */
export const KNOWN_BYTES_MAX = 32 * 1024 * 1024;
/** Below this a copy costs less than a mapping and its page faults. */
export const MAP_MIN_BYTES = STORE_FROM_BYTES;
/** The page of nearly every system; a mapping begins at one. */
export const PAGE_BYTES = 4096;
/** Alignment of an object's buffers, which become typed arrays: a cache line, and the widest load of any processor. */
export const BUFFER_ALIGNMENT_BYTES = 64;
/** The same in words: positions that different processes write do not share a cache line. */
export const LINE_WORDS = BUFFER_ALIGNMENT_BYTES / 4;
/** A value of a million separate buffers of 4 KB or more; a header beyond 8 MB is not a header. */
export const BUFFERS_MAX = 1_048_576;

/** Part of the quota above which objects go to disk. Ray's threshold: the rest is room for puts while the disk works. */
export const SPILL_ABOVE = 0.8;
/** Down to here, so that a store that is filled steadily spills in large steps and not at every object. */
export const SPILL_DOWN_TO = 0.6;
/** Processes collect garbage from the same mark on, before objects go to disk. */
export const COLLECT_ABOVE = SPILL_ABOVE;
/** A collection costs each process some 30 ms. The next one follows once this part of the quota, or of the stored bytes, was written. */
export const COLLECT_AGAIN_AFTER = 0.05;
/** Copies that nobody uses may stay below the mark by as much. */
export const IDLE_COPIES_UP_TO = SPILL_ABOVE - COLLECT_AGAIN_AFTER;

/** After so many bytes of new mapped views, or of objects with new handles, young garbage is collected. A collection takes 0.5 ms, a copy of them 3 ms. */
export const YOUNG_BYTES_MAX = 16 * 1024 * 1024;
/** Bytes of views and handles that outlived such collections, after which the whole heap is collected. */
export const KEPT_BEFORE_COLLECTION_BYTES = 8 * YOUNG_BYTES_MAX;

/** Handles since the last garbage collection that cause another one in a busy process: 30 MB there, and as much in the daemon. */
export const HANDLES_BEFORE_COLLECTION = 32_768;
/** Bytes that a dropped handle keeps until the collection. Measured: 800 in a worker that takes refs, 2,000 in a driver that puts and calls. */
export const HANDLE_GARBAGE_BYTES = 1024;

/** Number of arenas in a small quota. Arenas are spilled and given back whole, so a small quota needs small arenas. */
export const ARENAS_IN_QUOTA = 8;
/** Part of the quota for objects that are being fetched from other nodes. */
export const PULLS_PART_OF_STORE = 0.5;
/** Part of the quota for large arguments by value, kept so that their calls can run again. */
export const LINEAGE_PART_OF_STORE = 1 / 8;

/** An arena that was made for a large object takes another one of at least half its size. */
export const DEDICATED_FIT = 2;
/** Longer than the collector needs to find objects that a loop of puts dropped. Recycled pages are five times as fast as fresh ones. */
export const EMPTY_ARENA_KEPT_MS = 5000;

/** Refs inside a value of which the message says where their objects lie. With more of them, a reader asks for those that it needs. */
export const PLACES_MAX = 64;
/** Ids of objects in one message, well below the size of a frame: one object may hold a hundred thousand refs. */
export const IDS_IN_MESSAGE_MAX = 20_000;
/** How many messages with holds are read before the daemon is told. */
export const TELL_HELD_EVERY = 256;
/** Ended links of which it is remembered how far they were read. */
export const ENDED_LINKS_MAX = 1024;

/** Part of a fetched object that one request asks for: the unit of checksums and of resumption. */
export const CHUNK_BYTES = 1_048_576;
