/** Limits of what is shown of long work. */

/** Work that is over sooner shows no progress. */
export const PROGRESS_AFTER_MS = 500;

/** How often progress is drawn on a terminal. */
export const PROGRESS_DRAWN_EVERY_MS = 100;

/** How often progress is a line where there is no terminal. */
export const PROGRESS_LINE_EVERY_MS = 5000;
