/** Times of the display of progress. */

/** Work that ends sooner shows no progress. */
export const PROGRESS_AFTER_MS = 500;

/** Interval at which progress is drawn on a terminal. */
export const PROGRESS_DRAWN_EVERY_MS = 100;

/** Interval at which progress is printed as a line without a terminal. */
export const PROGRESS_LINE_EVERY_MS = 5000;
