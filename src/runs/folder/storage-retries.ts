/**
 * Repeats work while the storage of a run fails, up to a moment, with growing pauses.
 *
 * For work that would otherwise be lost or done again: the checkpoints of reports, and the writes at a run's end. Requests to S3 are
 * repeated below it, for seconds. Errors that do not come from the storage are thrown at once.
 */
import { StorageError } from "../../storage/errors.ts";
import { STORAGE_RETRY_FIRST_MS, STORAGE_RETRY_MAX_MS } from "../limits.ts";

export interface StorageRetries {
  /** By `performance.now()`: nothing is tried again later. */
  readonly untilMs: number;
  /** Ends the repetition: the work is tried once more then, at once. */
  readonly signal: AbortSignal;
}

/**
 * Resolves when the work has succeeded.
 *
 * @param onFailure - is called with the first failure that is followed by another try
 */
export async function retryStorage<T>(
  work: () => Promise<T>,
  { untilMs, signal }: StorageRetries,
  onFailure: (error: Error) => void = () => {},
): Promise<T> {
  for (let pauseMs = STORAGE_RETRY_FIRST_MS; ; pauseMs = Math.min(2 * pauseMs, STORAGE_RETRY_MAX_MS)) {
    try {
      return await work();
    } catch (error) {
      const isOfStorage = error instanceof StorageError || (error instanceof Error && error.cause instanceof StorageError);
      if (!isOfStorage || signal.aborted || performance.now() + pauseMs > untilMs) throw error;
      if (pauseMs === STORAGE_RETRY_FIRST_MS) onFailure(error);
      await pause(pauseMs, signal);
    }
  }
}

/** Resolves after a time, or when the signal aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
