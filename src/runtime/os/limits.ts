/**
 * Limits of the machine and its network: connections that begin, programs that run, logs, archives.
 *
 * Limits that workers share are in `python/shoal/_limits.py`, too. Limits of archives hold for strangers:
 * they bound the writes and the memory of this machine.
 */

/** Time for a connection: a reachable host takes a round trip, so this bounds the wait for an unreachable one. */
export const CONNECT_WITHIN_MS = 5000;
/** From the first byte of TLS to its end, and from the connection to its first byte. */
export const HANDSHAKE_WITHIN_MS = CONNECT_WITHIN_MS;
/** Time to wait for a refused connection. Nodes that are about to end ask, so it is short. */
export const REFUSES_WITHIN_MS = 1_500;

/**
 * Connections that may stay silent: more than the callers of a machine that start in the same second, and few compared with the descriptors
 * of working ones. Beyond it the oldest are dropped once their time is over.
 */
export const UNFINISHED_MAX = 128;
/** Time for a connection to identify itself. An honest caller does so in a moment, unless this process is behind with many like it. */
export const UNFINISHED_FOR_MS = 1000;
/**
 * Beyond it the oldest is dropped at once: half of a process's descriptors on a small system, and more than the processes of one machine
 * need at once.
 */
export const UNFINISHED_AT_ONCE_MAX = 512;
/** The same at a port: several hundred nodes that return to their head at once are no attack, thousands are. */
export const UNFINISHED_AT_PORT_MAX = 4 * UNFINISHED_AT_ONCE_MAX;

/** Interval at which a worker whose time is over checks whether its daemon has an answer again. */
export const EXECUTION_LEASE_LOOK_EVERY_MS = 20;
/** Interval at which a process without a limit looks for one. */
export const EXECUTION_LEASE_LOOK_WITHOUT_LIMIT_EVERY_MS = 2_000;
/** Time without an answer after which the worker ends. */
export const EXECUTION_LEASE_GIVES_UP_MS = 30_000;

/** How long more output is waited for after the process that writes it has ended: a program that it has started may keep its pipes. */
export const OUTPUT_OPEN_MAX_MS = 500;
/** A started program may write without end. The last output of the process itself is in pipes of some hundred kilobytes. */
export const OUTPUT_AFTER_END_MAX_MS = 10_000;
/** Time for a program to answer a short question, such as its version. */
export const PROGRAM_ANSWERS_WITHIN_MS = 20_000;
/** Lines of npm's and pip's output: they name the cause first and print their own usage after it. */
export const INSTALL_OUTPUT_LINES_MAX = 12;
/** Characters kept of a program's output. */
export const OUTPUT_CHARACTERS_MAX = 16_384;

/** Size at which a log is begun anew, and the number that is kept: of a node, and of the NATS server beside it. */
export const LOG_BYTES_MAX = 8 * 1024 * 1024;
export const LOG_FILES_MAX = 5;

/** Between a parent and its child: a configuration or a result is one line, however long. */
export const MESSAGE_LENGTH_MAX = 16 * 1024 * 1024;

/** Smallest part of the memory of a worker's outboxes: most connections never have more in flight. */
export const OUTBOX_UNIT_BYTES = 16 * 1024;
/** Bytes that a busy connection gathers before a write, as many as `FrameWriter` gathers for other connections. */
export const OUTBOX_SLOT_BYTES = 128 * 1024;
/**
 * The same for a connection to another machine, where as many full slots are kept besides, as the system may lose bytes that it has taken.
 */
export const OUTBOX_SLOT_ELSEWHERE_BYTES = 64 * 1024;
export const OUTBOX_KEPT_ELSEWHERE = 2;
/** Size of all outboxes of a worker. Beyond it, frames are written as if there were none: shared memory is for objects. */
export const OUTBOX_BYTES_MAX = 32 * 1024 * 1024;
/** A worker marks the last call that has begun of so many connections. After as many others the place of one is used again: its answers have long left. */
export const BEGUN_MAX = 64;
/** Time between two looks at a stopped job's process group. */
export const JOB_GROUP_LOOK_EVERY_MS = 50;
/** Processes whose environments are read in one turn of the event loop. */
export const PROCESSES_LOOKED_AT_ONCE = 32;
/** Entries of a received zip archive. */
export const ZIP_ENTRIES_MAX = 100_000;
/** Bytes of the directory of an archive, which is read as a whole. */
export const ZIP_DIRECTORY_BYTES_MAX = 64 * 1024 * 1024;
/** Characters of a path in it. */
export const ZIP_PATH_LENGTH_MAX = 4_096;
/** Bytes of all unpacked files together. */
export const ZIP_UNPACKED_BYTES_MAX = 4 * 1024 * 1024 * 1024;
/** How many times larger its files may be than the archive, beyond a first megabyte: text packs to a tenth, and zeros to a thousandth. */
export const ZIP_RATIO_MAX = 200;
export const ZIP_RATIO_SLACK_BYTES = 1024 * 1024;
