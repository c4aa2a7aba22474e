/** Waits that a signal ends early. */

/** @throws the reason of the signal */
export async function cutOff(waiting: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return await waiting;
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([waiting, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
