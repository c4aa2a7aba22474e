/**
 * Reports the metrics of this process to the daemon of the open session, between and during calls.
 *
 * A process without an open session reports nothing: its totals stay, and the next session gets all of them. The end of a session reports
 * by itself (`runtime.ts`), so that the last values of a short program are not lost.
 */
import { currentRuntime } from "../current-runtime.ts";
import { tellMetrics } from "./metrics-source.ts";

/** Reports changes, if a session is open. */
export function reportMetrics(): void {
  const runtime = currentRuntime();
  if (runtime !== undefined && !runtime.isClosed && !runtime.daemon.isClosed) tellMetrics(runtime.daemon);
}
