/**
 * Lines of a worker's output that are no output: words of a library there to its other half in the driver, such as the state of a progress bar.
 *
 * They share the way of the output, so that they arrive in its order; the driver takes them out again (`core/output.ts`).
 */

/** Begins such a line. No program prints it. */
export const SIGNAL = "\u001dshoal ";
