/**
 * The end of a process's output, once the process itself has ended.
 *
 * A stream closes by itself at its end, but a program that the process had started may hold it open for ever. So the wait ends after a
 * while without output. A daemon that is busy reading does not count that time.
 */
import { timeoutAfterIo } from "../../../base/time/timeout-after-io.ts";
import { OUTPUT_AFTER_END_MAX_MS, OUTPUT_OPEN_MAX_MS } from "../../limits.ts";

type Heard = Pick<NodeJS.ReadableStream, "on" | "off">;

/**
 * Calls back once no stream has had output for `OUTPUT_OPEN_MAX_MS`, after `OUTPUT_AFTER_END_MAX_MS` at the latest. Keeps no process alive.
 */
export function afterRemainingOutput(streams: readonly Heard[], callback: () => void): void {
  const sinceMs = performance.now();
  let heardMs = sinceMs;
  const heard = (): void => {
    heardMs = performance.now();
  };
  for (const stream of streams) stream.on("data", heard);
  const wait = (ms: number): void => {
    timeoutAfterIo(ms, () => {
      const nowMs = performance.now();
      const leftMs = Math.min(heardMs + OUTPUT_OPEN_MAX_MS, sinceMs + OUTPUT_AFTER_END_MAX_MS) - nowMs;
      if (leftMs > 0) {
        wait(leftMs);
        return;
      }
      for (const stream of streams) stream.off("data", heard);
      callback();
    });
  };
  wait(OUTPUT_OPEN_MAX_MS);
}
