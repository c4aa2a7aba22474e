/** Waits for a promise for a limited time; how it ended is its reader's business. No timer is left when it settles first. */

/** Whether the promise settled before the time was over; without a limit, once it has. */
export async function settledWithin(promise: PromiseLike<unknown>, timeoutMs: number | undefined): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  if (timeoutMs === undefined) return settled;
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, false);
  });
  try {
    return await Promise.race([settled, limit]);
  } finally {
    clearTimeout(timer);
  }
}
