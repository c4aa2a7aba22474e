/**
 * The time limit of a wait: of `get` and `wait`, and of a wait for something that is not a ref.
 *
 * A process that stood still finds its timers over before it reads its sockets, and would call messages late that came in time. So a late
 * limit takes effect a turn of the event loop later: in that turn all messages that had come are read.
 */

/** Later than a process is that does nothing but its work. */
const LATE_MS = 20;

/** Calls back after so long. @returns the timer */
export function afterLimit(timeoutMs: number, callback: () => void): NodeJS.Timeout {
  const endMs = performance.now() + timeoutMs;
  return setTimeout(() => {
    if (performance.now() - endMs > LATE_MS) setImmediate(callback);
    else callback();
  }, timeoutMs);
}

/** The value, or `undefined` when the time is over first. @throws the signal's reason, and whatever the work fails with */
export async function within<T>(
  work: Promise<T>,
  limits: { timeoutMs: number | undefined; signal: AbortSignal | undefined },
): Promise<T | undefined> {
  const { timeoutMs, signal } = limits;
  signal?.throwIfAborted();
  let timer: NodeJS.Timeout | undefined;
  let onAbort: () => void = () => {};
  const limit = new Promise<undefined>((resolve, reject) => {
    if (timeoutMs !== undefined) timer = afterLimit(timeoutMs, () => resolve(undefined));
    onAbort = () => reject(signal?.reason as Error);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}
