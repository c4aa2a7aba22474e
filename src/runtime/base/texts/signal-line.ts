/**
 * Lines of a worker's output that are no output: words of a library there to its other half in the driver, such as the state of a progress bar.
 *
 * Signal lines share the path of the output and arrive in order with it. The driver takes them out again (`core/telemetry/output.ts`).
 */

/** Begins a signal line. No program prints this text. */
export const SIGNAL = "\u001dshoal ";
