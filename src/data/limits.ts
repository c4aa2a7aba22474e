/**
 * Sizes and numbers that Data keeps to, where the user says nothing else.
 *
 * Bytes of blocks come first, since all else follows from them: how many blocks are under way, how many tasks run, and when rows go to disk.
 * Those of waits are in milliseconds.
 */

/** Blocks that a task makes are gathered until they have this many bytes, so that a block is worth its handling. */
export const BLOCK_BYTES_MIN = 1024 * 1024;

/** Each further block of a task is gathered until it has twice as many, up to this: its first rows come soon, and the handling of all costs little. */
export const GATHERED_BYTES_MAX: number = 8 * BLOCK_BYTES_MIN;

/** A block with more is cut, as far as its rows allow. The same as Ray's target. */
export const BLOCK_BYTES_MAX: number = 128 * BLOCK_BYTES_MIN;

/** A column of a block has at most this many bytes of texts, or elements of lists: offsets have 32 bits. */
export const OFFSET_MAX = 0x7fffffff;

/** Rows that a function of single rows gives are made a block after this many, however small they are. */
export const ROWS_PER_BLOCK_MAX = 65_536;

/** Least size of a block in the budget, because its references and messages take memory, too. */
export const BLOCK_COST_BYTES: number = 64 * 1024;

/** Rows that a function or an iterator gives are made a block once they have about this many bytes: their worker holds no more of them. */
export const MADE_BYTES_MAX: number = 32 * BLOCK_BYTES_MIN;

/** Items of an iterator of the program that are read before a task gets them: few, as it may be slow. */
export const ITEMS_PER_BLOCK = 4096;

/** Blocks that a task makes ahead of the executor. */
export const BLOCKS_AHEAD_MAX = 2;

/** Tasks in flight for each CPU: one that runs and one that waits for its turn, so that no worker is idle between two. */
export const TASKS_PER_CPU = 2;

/** For each task that may be under way so many may have begun, of which all others have ended and wait to be taken in their order: one slow file among many holds nobody up. */
export const TASKS_ENDED_AHEAD_MAX = 16;

/** Read tasks for each CPU where the source is cut freely. */
export const READ_TASKS_PER_CPU = 4;

/** The same for many small files, such as images, of which a task reads several: more tasks, since they differ more. */
export const SMALL_FILE_TASKS_PER_CPU = 8;

/** Files of such a task: a task that fails, or whose worker dies, begins again. */
export const SMALL_FILES_PER_TASK_MAX = 500;

/** The part of the object store that running pipelines use together, unless `configure` says otherwise. The same as Ray's. */
export const STORE_PART_OF_BUDGET = 0.5;

/** Rows of a batch, unless `batchSize` says otherwise. The same as Ray's. */
export const BATCH_ROWS = 256;

/** Batches that `iterBatches` makes before they are asked for, at most. */
export const BATCHES_AHEAD_MAX = 1000;

/** Blocks that wait for one consumer of a split whose parts are to be equal, before the others wait for it. */
export const SPLIT_BLOCKS_WAITING_MAX = 8;

/** How long the consumers of a split wait for one that is not heard of, unless `timeoutMs` says otherwise. Long enough for an evaluation or a checkpoint. */
export const SPLIT_WAIT_MS = 600_000;

/** Rows that `show` and `take` give, unless the caller says otherwise. The same as Ray's. */
export const ROWS_SHOWN = 20;

/** Size of the rows that an exchange gathers in one task. The task holds several times as many bytes in memory. */
export const PARTITION_BYTES: number = 32 * BLOCK_BYTES_MIN;

/** An exchange of fewer bytes has one partition: a second one would cost more than it saves. */
export const EXCHANGE_BYTES_MIN: number = 4 * BLOCK_BYTES_MIN;

/** A side of a join goes to every task as a whole if the other one has so many times its bytes: then cutting both would cost more. It has the bytes of a partition at most. */
export const WHOLE_INPUT_TIMES = 16;

/** Limit on the rows of such a side: each task's table of its keys takes some 50 bytes for each row. */
export const WHOLE_INPUT_ROWS_MAX: number = 2 ** 20;

/** Rows that all tasks of a read may bring into tables, together, where nobody knows how many rows they read: less than a second's work. */
export const SMALL_SIDE_TABLE_ROWS: number = 2 ** 20;

/** Rows of a block that a join gives, where its bytes allow as many: one row of a side may meet very many of the other. */
export const ROWS_OF_JOINED_BLOCK = 131_072;

/** Partitions of an exchange: each partition task gives as many parts. */
export const PARTITIONS_MAX = 1000;

/** Bins of a partition (`engine/exchange/bins.ts`): of 2 MB each, since a processor has caches of a megabyte and more, and a column at a time is what it needs there. */
export const BINS_PER_PARTITION = 16;

/** Bins of all partitions: beyond it a partition task would write to more places at a time than a processor remembers the addresses of. */
export const BINS_MAX = 512;

/** Rows of each partition that are sampled to find the ranges of a sort. */
export const SAMPLES_PER_PARTITION = 256;

/** Calls that an actor has for each that it runs at a time: one more waits for its turn, so that the actor is not idle between two. */
export const CALLS_PER_ACTOR = 2;

/** Actors beyond the pool's minimum end after this idle time. */
export const ACTOR_IDLE_MS = 2000;

/** A pipeline with pools looks so often how many CPUs the cluster has. */
export const POOL_LOOK_MS = 1000;

/** How long actors of a pipeline that is over may take to end by themselves. */
export const ACTOR_END_MS = 1000;

/** Limit on consecutive deaths of actors with the same rows or in their constructors: the cause ends each of them, so new actors do not help. */
export const ACTOR_DEATHS_MAX = 3;

/** Pieces of a call or task whose process died: a row among 65,536 is alone after four deaths, and there are few more calls than before. */
export const PIECES_AFTER_DEATH = 16;

/** Deaths of tasks without a block in between, after which no task is cut any more: a function that ends each process would be tried with each row. */
export const TASK_DEATHS_IN_ROW_MAX: number = 2 * PIECES_AFTER_DEATH;

/** Retries of an error that `retryOn` accepts, where `maxTaskRetries` says nothing. The same as that of tasks. */
export const ERROR_RETRIES = 3;

/** Size of a reader's block: large beside the fixed cost of a task, and small enough that a small budget holds many. */
export const READ_BLOCK_BYTES: number = 8 * 1024 * 1024;
/** Limit on the bytes of one frame of a film, about four frames of 8K. */
export const FRAME_BYTES_MAX: number = 384 * 1024 * 1024;
/** Size of a file's beginning that decides the types of its columns. */
export const INFERENCE_BYTES: number = 4 * 1024 * 1024;
/** The beginning from which the columns of several JSON files are found before these are read. It is parsed twice, so it is shorter. */
export const JSON_LOOK_BYTES: number = 1024 * 1024;
/** Limit on one record of a text format. An unclosed quote makes the rest of the file one record; this limit ends the search. */
export const RECORD_BYTES_MAX: number = 256 * 1024 * 1024;

/** Different keys that rows or objects of JSON may have where few of them have each key. Beyond it the keys are ids, and a column for each would take memory with the square of the rows. */
export const JSON_SPARSE_KEYS_MAX = 1000;

/** How deep arrays and objects of a row of JSON may lie in each other: each is a type within a type, and what walks types calls itself. Some thousands end the stack of a worker. */
export const JSON_LEVELS_MAX = 1000;

/** Limit on the dictionary at the beginning of a `.npy` file. NumPy itself reads 10,000. */
export const NPY_HEADER_BYTES_MAX = 65_536;

/** The first bytes of a file of NumPy's: magic, version, and the longest form of the header's length. */
export const NPY_PREFIX_BYTES = 12;

/** How often a run is looked at for tasks that hang or use much memory. The same as Ray's. */
export const ISSUE_LOOK_MS = 30_000;

/** A task that has given nothing for less than this is not warned of, however fast the others are. */
export const ISSUE_WAIT_MS_MIN = 30_000;

/** Errors that a run keeps of those that it leaves out. */
export const ERRORS_KEPT_MAX = 10;

/** How often a task that cuts blocks into parts runs again. It runs no code of users, and each part that is lost with a node may cost a run. */
export const PARTITION_RETRIES = 100;

/** Combinations of `partitionBy` values for which one task has files open. */
export const PARTITIONS_OF_TASK_MAX = 500;

/** Time limit on the removal of unfinished files at Ctrl-C. */
export const INTERRUPTED_WRITE_MS = 1500;

/** Files of a written dataset that go to their places together. */
export const FILES_PUBLISHED_AT_A_TIME = 16;

/** Interval between a worker's readings of its memory. A reading takes Linux up to 0.1 ms, a quarter of the cost of a block of one row. */
export const MEMORY_READ_MS = 20;

/** Elements of no bytes, such as nulls, that one array of Avro may have. */
export const EMPTY_AVRO_ELEMENTS_MAX = 1_000_000;

/** Characters of an error's message, reason or hint: a screen. A file with 100,000 columns, or one cell of megabytes, is quoted in part. */
export const ERROR_TEXT_MAX = 4000;

/** Columns that a pivot makes of values: files and schemas of more are slow everywhere, and a typo in `columns` is then likelier than a use. */
export const PIVOT_COLUMNS_MAX = 10_000;
