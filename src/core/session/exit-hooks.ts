/**
 * The ends of a driver that are not a call of `shutdown()`: nothing left to do, and the exit of the process.
 *
 * A library is a guest in the process. It listens neither to `uncaughtException` nor to signals. Any listener there takes Node's own end
 * away: the report of the error, the exit code, the death by the signal. Besides, programs and other libraries decide by the number of
 * listeners. So Node ends the process as it would without Shoal, and the exit's event is what remains to be heard. A death by a signal has
 * none: the daemon notices the end of its driver and cleans up, as it does after `kill -9`.
 */
interface ExitListeners {
  /** The event loop has nothing left to do. It goes on with whatever this begins. */
  readonly onIdle: () => void;
  /** The process ends when this returns. */
  readonly onExit: () => void;
}

/** @returns a function that removes the hooks */
export function listenForExit({ onIdle, onExit }: ExitListeners): () => void {
  process.on("beforeExit", onIdle);
  process.on("exit", onExit);
  return () => {
    process.off("beforeExit", onIdle);
    process.off("exit", onExit);
  };
}
