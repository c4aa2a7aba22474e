/**
 * Writes the output of ranks to files in the run's folder: `rank-0.log` and so on, over all attempts.
 *
 * The output of workers comes to the program that called `fit` in any case, marked with its source; the files hold a copy. A file that cannot be written causes one
 * warning; the run goes on, and the last lines wait until the file can be written.
 */
import { asError, messageOf, type OutputLines, takeOutput } from "../../core/internal.ts";
import { STORAGE_RETRY_FIRST_MS, STORAGE_RETRY_MAX_MS } from "../../runs/limits.ts";
import { retryStorage, type StorageRetries } from "../../runs/folder/storage-retries.ts";
import { type AppendedFile, openAppended } from "../../storage/appending/appended-file.ts";
import { joinPath } from "../../storage/paths.ts";
import { RANK_LOG_LINES_MAX } from "../limits.ts";

interface RankLog {
  readonly path: string;
  /** Undefined until there is something to write, and the storage takes it. */
  file: Pick<AppendedFile, "append" | "close"> | undefined;
  /** Lines that are not in the file yet. */
  waiting: string[];
  /** The present write of waiting lines; it ends with the first failed append. */
  work: Promise<void> | undefined;
  /** Runs from an append that failed to the next try. */
  retry: NodeJS.Timeout | undefined;
  pauseMs: number;
}

/** The sources of output, and the files that it goes to. */
interface RankLogParts {
  readonly takeOutput: typeof takeOutput;
  readonly openAppended: (path: string) => Promise<Pick<AppendedFile, "append" | "close">>;
}

export class RankLogs {
  readonly #folder: string;
  readonly #warn: (text: string) => void;
  readonly #parts: RankLogParts;
  readonly #files = new Map<number, RankLog>();
  readonly #ends: (() => void)[] = [];
  #isClosing = false;
  #hasWarned = false;

  constructor(folder: string, warn: (text: string) => void, parts: RankLogParts = { takeOutput, openAppended }) {
    this.#folder = folder;
    this.#warn = warn;
    this.#parts = parts;
  }

  /** The output of a rank goes to its file from now on. */
  take(rank: number, source: string): void {
    if (this.#files.has(rank)) return;
    const path = joinPath(this.#folder, `rank-${rank}.log`);
    this.#files.set(rank, { path, file: undefined, waiting: [], work: undefined, retry: undefined, pauseMs: STORAGE_RETRY_FIRST_MS });
    this.#ends.push(this.#parts.takeOutput(source, (output) => this.#write(rank, output)));
  }

  #write(rank: number, { lines }: OutputLines): void {
    const log = this.#files.get(rank);
    if (log === undefined || lines.length === 0) return;
    log.waiting.push(...lines);
    if (log.waiting.length > RANK_LOG_LINES_MAX) log.waiting.splice(0, log.waiting.length - RANK_LOG_LINES_MAX);
    if (log.retry === undefined) this.#begin(log);
  }

  #begin(log: RankLog): void {
    log.retry = undefined;
    log.work ??= this.#drain(log).finally(() => (log.work = undefined));
  }

  async #drain(log: RankLog): Promise<void> {
    try {
      while (log.waiting.length > 0 && !this.#isClosing) {
        await this.#flush(log);
        log.pauseMs = STORAGE_RETRY_FIRST_MS;
      }
    } catch (error) {
      this.#warnOnce(asError(error));
      if (this.#isClosing) return;
      log.retry = setTimeout(() => this.#begin(log), log.pauseMs).unref();
      log.pauseMs = Math.min(2 * log.pauseMs, STORAGE_RETRY_MAX_MS);
    }
  }

  /** Writes the waiting lines, which go on waiting if that fails. */
  async #flush(log: RankLog): Promise<void> {
    const lines = log.waiting;
    if (lines.length === 0) return;
    log.waiting = [];
    try {
      log.file ??= await this.#parts.openAppended(log.path);
      await log.file.append(`${lines.join("\n")}\n`);
    } catch (error) {
      log.waiting = [...lines, ...log.waiting].slice(-RANK_LOG_LINES_MAX);
      throw error;
    }
  }

  #warnOnce({ message }: Error): void {
    if (!this.#hasWarned) this.#warn(`the output of ranks cannot be written, and its last lines wait: ${message}`);
    this.#hasWarned = true;
  }

  /** Resolves when the files have all output that has come, but for those that cannot be written now. */
  async flush(): Promise<void> {
    await Promise.all(Array.from(this.#files.values(), async (log) => await log.work));
  }

  /** Writes the waiting lines, and ends. `retries`: limits the wait for a storage that accepts nothing. */
  async close(retries: StorageRetries): Promise<void> {
    for (const end of this.#ends.splice(0)) end();
    this.#isClosing = true;
    const written = Array.from(this.#files.values(), async (log) => {
      clearTimeout(log.retry);
      await log.work;
      const close = async (): Promise<void> => {
        await this.#flush(log);
        await log.file?.close();
      };
      await retryStorage(close, retries, (error) => this.#warnOnce(error)).catch((error: unknown) =>
        this.#warn(`${log.path} cannot be written: ${messageOf(error)}`),
      );
    });
    await Promise.all(written);
    this.#files.clear();
  }
}
