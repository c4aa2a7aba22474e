/**
 * Prints for others on the driver: the output of its workers, each line with its source, and warnings.
 *
 * A line goes to the stream to which it was written. Lines keep the order in which the daemon received them; for one
 * worker that is the order of writing. Lines that begin with `SIGNAL` are messages of a library to its other half
 * here (progress bars). Without that half they are dropped.
 */
import { SIGNAL } from "../../runtime/base/texts/signal-line.ts";
import type { LogHeader } from "../../runtime/wire/messages.ts";
import { isWorker } from "../runtime-slot.ts";

let sink: ((signal: string) => void) | undefined;

/** Sets the one receiver of the whole program's signals. Without a receiver they are dropped. */
export function setSignalSink(receive: (signal: string) => void): void {
  sink = receive;
}

/**
 * Sends a text of one line to the driver's sink. A worker prints the text as a line. The text therefore arrives in order with the worker's
 * lines, also from code that never yields, and nobody waits for it.
 */
export function sendSignal(signal: string): void {
  if (isWorker()) process.stdout.write(`${SIGNAL}${signal}\n`);
  else sink?.(signal);
}

/** Readers of a source's lines besides the terminal, by source. */
const takers = new Map<string, (lines: OutputLines) => void>();

/** Some lines that a worker has printed. */
export interface OutputLines {
  readonly stream: "stdout" | "stderr";
  readonly lines: readonly string[];
}

/**
 * Gives a library the lines that any worker of this program prints under a source, which is the name of a call or of
 * an actor's class. `logToDriver` does not matter. Output of native code and of child processes is included while the
 * source printed last.
 *
 * @returns a function that ends it
 */
export function takeOutput(source: string, take: (lines: OutputLines) => void): () => void {
  takers.set(source, take);
  return () => {
    if (takers.get(source) === take) takers.delete(source);
  };
}

/** Passes output to the library that reads its source, without printing it. */
export function passLog(entry: LogHeader): void {
  const take = takers.get(entry.source);
  if (take === undefined) return;
  take({ stream: entry.stream, lines: entry.lines.filter((line) => !line.includes(SIGNAL)) });
}

export function printLog(entry: LogHeader): void {
  passLog(entry);
  const stream = entry.stream === "stdout" ? process.stdout : process.stderr;
  const source = entry.source === "" ? "worker" : entry.source;
  const print = (line: string): void => write(stream, `(${source} pid=${entry.pid}) ${line}\n`);
  for (const line of entry.lines) {
    const start = line.indexOf(SIGNAL);
    if (start < 0) {
      print(line);
      continue;
    }
    // The program had written a line without its end.
    if (start > 0) print(line.slice(0, start));
    sink?.(line.slice(start + SIGNAL.length));
  }
}

export function printWarning(text: string): void {
  write(process.stderr, `shoal: ${text}\n`);
}

const watched = new WeakSet<NodeJS.WritableStream>();
const withoutReader = new WeakSet<NodeJS.WritableStream>();

/**
 * Ignores a closed terminal. When nobody reads on, as behind `| head`, the workers' output does not end the driver
 * and is dropped from then on.
 */
function write(stream: NodeJS.WritableStream, text: string): void {
  if (!watched.has(stream)) {
    watched.add(stream);
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") withoutReader.add(stream);
      else if (stream.listenerCount("error") === 1) throw error;
    });
  }
  if (!withoutReader.has(stream)) stream.write(text);
}
