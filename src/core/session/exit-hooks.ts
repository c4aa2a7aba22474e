/**
 * The ends of a driver that are not a call of `shutdown()`: nothing left to do, a signal, an uncaught exception.
 *
 * All take the session's one way out. A signal is raised again afterwards, so that the exit status tells the truth; an exception is printed as Node
 * prints it, with exit code 1. Handlers of the user's own come first and alone: where there are any, these do not end the process.
 */

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export class ExitHooks {
  readonly #close: () => Promise<void>;
  readonly #onBeforeExit = (): void => void this.#close();
  readonly #onSignal = (signal: NodeJS.Signals): void => {
    if (process.listenerCount(signal) > 1) return;
    void this.#close().finally(() => {
      process.off(signal, this.#onSignal);
      process.kill(process.pid, signal);
    });
  };
  readonly #onUncaught = (error: unknown): void => {
    if (process.listenerCount("uncaughtException") > 1) return;
    const text = error instanceof Error ? (error.stack ?? error.message) : `Uncaught ${String(error)}`;
    process.stderr.write(`${text}\n\nNode.js ${process.version}\n`);
    void this.#close().finally(() => process.exit(1));
  };

  constructor(close: () => Promise<void>) {
    this.#close = close;
    process.on("beforeExit", this.#onBeforeExit);
    process.on("uncaughtException", this.#onUncaught);
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
  }

  remove(): void {
    process.off("beforeExit", this.#onBeforeExit);
    process.off("uncaughtException", this.#onUncaught);
    // A second signal while the end is under way finds Node's default and ends at once; the daemon cleans up.
    for (const signal of SIGNALS) if (process.listenerCount(signal) > 0) setImmediate(() => process.off(signal, this.#onSignal));
  }
}
