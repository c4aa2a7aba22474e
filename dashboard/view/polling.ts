/**
 * Reads from the server every two seconds while the page is visible.
 *
 * One read is under way at a time. A hidden page stops reading, and reads at once when it is visible again. The hook ends with its
 * component, or when one of `places` changes.
 */
import { useEffect, useState } from "preact/hooks";
import { ServerError } from "../model/server.ts";

const READ_EVERY_MS = 2_000;
const OLD_MS = 10_000;

/** @returns the reason why the last read failed; empty when it did not */
export function usePolling(
  read: (signal: AbortSignal) => Promise<void>,
  places: readonly unknown[],
  onLoginNeeded: (reason: string) => void,
): string {
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isReading = false;
    const poll = async (): Promise<void> => {
      clearTimeout(timer);
      if (isReading || document.hidden) return;
      isReading = true;
      try {
        await read(ended.signal);
        if (!ended.signal.aborted) setProblem("");
      } catch (error) {
        if (ended.signal.aborted) return;
        if (error instanceof ServerError && error.needsLogin) onLoginNeeded(error.message);
        else setProblem((error as Error).message);
      } finally {
        isReading = false;
        if (!ended.signal.aborted) timer = setTimeout(poll, READ_EVERY_MS);
      }
    };
    const onChange = (): void => void poll();
    document.addEventListener("visibilitychange", onChange);
    void poll();
    return () => {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onChange);
    };
  }, [...places]);
  return problem;
}

/** Counts on while nothing new arrives. */
export function useAge(readAtMs: number): number {
  const [nowMs, setNowMs] = useState(readAtMs);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(performance.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return nowMs - readAtMs;
}

/** Whether rows are so old that the cluster may have changed. */
export function isOldAt(ageMs: number): boolean {
  return ageMs > OLD_MS;
}
