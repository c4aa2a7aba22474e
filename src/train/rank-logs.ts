/**
 * Writes the output of ranks to files in the run's folder: `rank-0.log` and so on, over all attempts.
 *
 * The output of workers comes to the program that called `fit` in any case, marked with its source; the files hold a copy. A file that cannot be written causes one
 * warning; the run goes on, and the last lines wait until the file can be written.
 */
import { type OutputLines, takeOutput } from "../core/internal.ts";
import { type AppendedFile, openAppended } from "../storage/appended-file.ts";
import { joinPath } from "../storage/paths.ts";
import { RANK_LOG_LINES_MAX, STORAGE_RETRY_FIRST_MS, STORAGE_RETRY_MAX_MS } from "./limits.ts";

interface RankLog {
  readonly path: string;
  /** Undefined until there is something to write, and the storage takes it. */
  file: AppendedFile | undefined;
  /** Lines that are not in the file yet. */
  waiting: string[];
  work: Promise<void> | undefined;
}

export class RankLogs {
  readonly #folder: string;
  readonly #warn: (text: string) => void;
  readonly #files = new Map<number, RankLog>();
  readonly #ends: (() => void)[] = [];
  /** Wakes what waits for the storage. */
  readonly #closing = Promise.withResolvers<void>();
  #isClosing = false;
  #hasWarned = false;

  constructor(folder: string, warn: (text: string) => void) {
    this.#folder = folder;
    this.#warn = warn;
  }

  /** The output of a rank goes to its file from now on. */
  take(rank: number, source: string): void {
    if (this.#files.has(rank)) return;
    this.#files.set(rank, { path: joinPath(this.#folder, `rank-${rank}.log`), file: undefined, waiting: [], work: undefined });
    this.#ends.push(takeOutput(source, (output) => this.#write(rank, output)));
  }

  #write(rank: number, { lines }: OutputLines): void {
    const log = this.#files.get(rank);
    if (log === undefined || lines.length === 0) return;
    log.waiting.push(...lines);
    if (log.waiting.length > RANK_LOG_LINES_MAX) log.waiting.splice(0, log.waiting.length - RANK_LOG_LINES_MAX);
    log.work ??= this.#drain(log).finally(() => (log.work = undefined));
  }

  async #drain(log: RankLog): Promise<void> {
    for (let pauseMs = STORAGE_RETRY_FIRST_MS; log.waiting.length > 0; ) {
      const lines = log.waiting;
      log.waiting = [];
      try {
        log.file ??= await openAppended(log.path);
        await log.file.append(`${lines.join("\n")}\n`);
        pauseMs = STORAGE_RETRY_FIRST_MS;
      } catch (error) {
        if (!this.#hasWarned) this.#warn(`the output of ranks cannot be written, and its last lines wait: ${(error as Error).message}`);
        this.#hasWarned = true;
        if (this.#isClosing) return;
        log.waiting = [...lines, ...log.waiting].slice(-RANK_LOG_LINES_MAX);
        await Promise.race([new Promise((resolve) => setTimeout(resolve, pauseMs).unref()), this.#closing.promise]);
        pauseMs = Math.min(2 * pauseMs, STORAGE_RETRY_MAX_MS);
      }
    }
  }

  /** Tries once more to write what waits. */
  async close(): Promise<void> {
    for (const end of this.#ends.splice(0)) end();
    this.#isClosing = true;
    this.#closing.resolve();
    for (const log of this.#files.values()) {
      await log.work;
      await log.file?.close().catch((error: unknown) => this.#warn(`${log.path} cannot be written: ${(error as Error).message}`));
    }
    this.#files.clear();
  }
}
