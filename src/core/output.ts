/**
 * What the driver prints for others: the output of its workers, each line with its source, and warnings.
 *
 * Lines go to the stream to which they were written, in the order in which the daemon received them, which per worker is the order of writing.
 */
import type { LogHeader } from "../wire/messages.ts";

export function printLog(entry: LogHeader): void {
  const stream = entry.stream === "stdout" ? process.stdout : process.stderr;
  const source = entry.source === "" ? "worker" : entry.source;
  for (const line of entry.lines) stream.write(`(${source} pid=${entry.pid}) ${line}\n`);
}

export function printWarning(text: string): void {
  process.stderr.write(`shoal: ${text}\n`);
}
