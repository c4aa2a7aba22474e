/** Lines about a run on stderr, as far as `loggingConfig` of `runConfig` lets them through. What ranks print, and the lines of progress, are another matter. */
import type { LogLevel } from "../../runs/run-config.ts";

const ORDER: readonly LogLevel[] = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];

export class RunMessages {
  readonly #least: number;

  constructor(level: LogLevel) {
    this.#least = ORDER.indexOf(level);
  }

  info(text: string): void {
    if (this.#least <= ORDER.indexOf("INFO")) write(text);
  }

  warn(text: string): void {
    if (this.#least <= ORDER.indexOf("WARNING")) write(text);
  }
}

function write(text: string): void {
  process.stderr.write(`shoal: ${text}\n`);
}
