/**
 * Writes the output of ranks to files in the run's folder: `rank-0.log` and so on, over all attempts.
 *
 * The output of workers comes to the program that called `fit` in any case, marked with its source; the files hold a copy. A file that cannot be written causes one
 * warning; the run goes on.
 */
import { type OutputLines, takeOutput } from "../core/internal.ts";
import { type AppendedFile, openAppended } from "../storage/appended-file.ts";
import { joinPath } from "../storage/paths.ts";

export class RankLogs {
  readonly #folder: string;
  readonly #warn: (text: string) => void;
  readonly #files = new Map<number, { file: Promise<AppendedFile>; waiting: string[]; work: Promise<void> | undefined }>();
  readonly #ends: (() => void)[] = [];
  #hasFailed = false;

  constructor(folder: string, warn: (text: string) => void) {
    this.#folder = folder;
    this.#warn = warn;
  }

  /** The output of a rank goes to its file from now on. */
  take(rank: number, source: string): void {
    if (this.#files.has(rank)) return;
    this.#files.set(rank, { file: openAppended(joinPath(this.#folder, `rank-${rank}.log`)), waiting: [], work: undefined });
    this.#ends.push(takeOutput(source, (output) => this.#write(rank, output)));
  }

  #write(rank: number, { lines }: OutputLines): void {
    const log = this.#files.get(rank);
    if (log === undefined || this.#hasFailed || lines.length === 0) return;
    log.waiting.push(...lines);
    log.work ??= (async () => {
      const file = await log.file;
      while (log.waiting.length > 0) await file.append(`${log.waiting.splice(0).join("\n")}\n`);
    })()
      .catch((error: unknown) => {
        if (!this.#hasFailed) this.#warn(`the output of ranks cannot be kept: ${(error as Error).message}`);
        this.#hasFailed = true;
      })
      .finally(() => (log.work = undefined));
  }

  async close(): Promise<void> {
    for (const end of this.#ends.splice(0)) end();
    for (const { file, work } of this.#files.values()) {
      await work;
      await file.then((opened) => opened.close()).catch(() => {});
    }
    this.#files.clear();
  }
}
