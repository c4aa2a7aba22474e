/** Limits of looking into processes: times until a process answers, and sizes of answers. */

/** Time for a process to open its inspector. Code that stays in native code longer cannot be looked into. */
export const INSPECTOR_OPENS_WITHIN_MS = 5_000;
/** Time for an answer of V8, except a heap snapshot. */
export const INSPECTOR_ANSWERS_WITHIN_MS = 30_000;
/** Time until code that computes comes to its next event, which a snapshot needs. */
export const SNAPSHOT_BEGINS_WITHIN_MS = 20_000;
/** A snapshot of 4 GiB takes V8 some minutes. */
export const SNAPSHOT_WITHIN_MS = 600_000;
/** Time for code to stop at its next statement. A process that waits for events has none. */
export const PAUSES_WITHIN_MS = 500;
/** Time for an inspector to close its connections. */
export const INSPECTOR_CLOSES_WITHIN_MS = 2_000;
/** Bytes of a message of V8. A CPU profile of ten minutes has some 50 MB. */
export const INSPECTOR_MESSAGE_BYTES_MAX = 256 * 1024 * 1024;
/** Frames of a stack that are shown: endless recursion has some 10,000. */
export const STACK_FRAMES_MAX = 1_000;
/** Size of a result: a snapshot is larger than its heap. */
export const RESULT_BYTES_MAX = 16 * 1024 * 1024 * 1024;
/** Unwritten bytes of a result above which V8 is read no further. */
export const RESULT_UNWRITTEN_BYTES_MAX = 16 * 1024 * 1024;

/** Time between two samples of a V8 profile, as in the tools of browsers. */
export const SAMPLE_EVERY_US = 1_000;
/** Bytes between two samples of allocations, as in the tools of browsers. */
export const HEAP_SAMPLE_BYTES = 32_768;
/** Time between two samples of a Python process: a signal and a text each time. */
export const PYTHON_SAMPLE_EVERY_MS = 20;
/** Time for the text of a Python stack. */
export const PYTHON_STACK_WITHIN_MS = 2_000;
/** Text of Python stacks of one profile. */
export const PYTHON_TEXT_BYTES_MAX = 256 * 1024 * 1024;

/** Default port of a Node program's inspector. */
export const PROGRAM_INSPECTOR_PORT = 9229;
