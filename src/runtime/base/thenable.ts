/**
 * What `await` waits for.
 *
 * Where a value may be one and mostly is not: to await it all the same would cost a turn.
 */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    value !== null && (typeof value === "object" || typeof value === "function") && typeof (value as { then?: unknown }).then === "function"
  );
}

/** For a promise that is refused: it may fail later, and nobody else waits for it. Other values are left alone. */
export function ignoreRejection(value: unknown): void {
  if (isThenable(value)) value.then(undefined, () => {});
}
