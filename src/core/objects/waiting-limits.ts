/** A wait for something that is not a ref, under the limits of `get`: a time, a signal. */

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
    if (timeoutMs !== undefined) timer = setTimeout(resolve, timeoutMs, undefined);
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
