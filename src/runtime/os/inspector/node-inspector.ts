/**
 * Looks into a worker that runs Node: opens its inspector by SIGUSR1, and closes it again.
 *
 * The worker was started with flags that make the address a secret: the inspector tells it to standard error alone, which the daemon reads.
 * Node opens the inspector from a separate thread, so a worker that computes without end is seen, too. Lines that Node prints about its
 * inspector are taken off the worker's output while this file has made it print them.
 */
import { InspectorSession } from "./inspector-session.ts";
import { INSPECTOR_OPENS_WITHIN_MS } from "./limits.ts";
import type { InspectorWork, ProcessInspector, WorkOptions } from "./process-inspector.ts";
import { runInV8 } from "./v8-work.ts";

const NOT_OPENED = `the process did not open its inspector within ${INSPECTOR_OPENS_WITHIN_MS} ms: it is in native code, waits in the system, or its code listens to SIGUSR1`;
const LISTENING = /Debugger listening on (ws:\/\/127\.0\.0\.1:\d{1,5}\/[0-9a-f-]{36})$/;
const NOISE =
  /(?:For help, see: https:\/\/nodejs\.org\/\S*|Debugger attached\.|Debugger ending on ws:\/\/\S+|Waiting for the debugger to disconnect\.\.\.)$/;

export class NodeInspector implements ProcessInspector {
  readonly #signal: () => void;
  /** A signal was sent, and the inspector has not told its address yet. */
  #isOpening = false;
  /** The inspector was opened from here, and may print more. */
  #isQuiet = false;
  #opened: ((url: string) => void) | undefined;
  #failed: ((error: Error) => void) | undefined;
  #url: string | undefined;

  /** @param signal sends SIGUSR1 */
  constructor(signal: () => void) {
    this.#signal = signal;
  }

  /** Takes a line of standard error. @returns the part that is the program's own; undefined where nothing is */
  printed(line: string): string | undefined {
    if (!this.#isOpening && !this.#isQuiet) return line;
    const match = this.#isOpening ? LISTENING.exec(line) : null;
    if (match?.[1] !== undefined) {
      this.#isOpening = false;
      this.#isQuiet = true;
      if (this.#opened === undefined) void closeAt(match[1]);
      this.#opened?.(match[1]);
      return rest(line, match.index);
    }
    const noise = this.#isQuiet ? NOISE.exec(line) : null;
    return noise === null ? line : rest(line, noise.index);
  }

  /** Notes the end of the process. */
  ended(): void {
    this.#failed?.(new Error("the process has ended"));
  }

  async run(work: InspectorWork, options: WorkOptions): Promise<void> {
    const isOwn = this.#url === undefined;
    const url = this.#url ?? (await this.#openNow());
    try {
      await using session = await InspectorSession.connect(url);
      await runInV8(session, work, options);
    } finally {
      if (isOwn) await closeAt(url);
    }
  }

  async open(): Promise<string> {
    this.#url ??= await this.#openNow();
    return this.#url;
  }

  async close(): Promise<void> {
    const url = this.#url;
    this.#url = undefined;
    if (url !== undefined) await closeAt(url);
  }

  async #openNow(): Promise<string> {
    if (this.#isOpening) throw new Error("the process has not opened its inspector yet, which an earlier question asked for");
    this.#isOpening = true;
    const opened = Promise.withResolvers<string>();
    this.#opened = opened.resolve;
    this.#failed = opened.reject;
    const timer = setTimeout(() => opened.reject(new Error(NOT_OPENED)), INSPECTOR_OPENS_WITHIN_MS);
    try {
      this.#signal();
      return await opened.promise;
    } finally {
      clearTimeout(timer);
      // An inspector that opens later is closed when it tells its address.
      this.#opened = undefined;
      this.#failed = undefined;
    }
  }
}

/** A program may have printed a line without its end before Node's. */
function rest(line: string, end: number): string | undefined {
  return end === 0 ? undefined : line.slice(0, end);
}

/** An inspector that has gone already is closed. */
export async function closeAt(url: string): Promise<void> {
  try {
    await using session = await InspectorSession.connect(url);
    await session.closeInspector();
  } catch {
    // The process has ended.
  }
}
