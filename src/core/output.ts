/**
 * What the driver prints for others: the output of its workers, each line with its source, and warnings.
 *
 * Lines go to the stream to which they were written, in the order in which the daemon received them, which per worker is the order of writing. Lines that
 * begin with `SIGNAL` are no output but words of the library to its other half here (progress bars); without that half they are dropped.
 */
import { SIGNAL } from "../runtime/base/signal-line.ts";
import type { LogHeader } from "../runtime/wire/messages.ts";
import { isWorker } from "./runtime-slot.ts";

let sink: ((signal: string) => void) | undefined;

/** Sets what takes in the signals of the whole program in its driver; there is one. Without it they are dropped. */
export function setSignalSink(receive: (signal: string) => void): void {
  sink = receive;
}

/**
 * Sends a text to the driver's sink: from a worker as a line of its output, so it arrives in order with what the worker prints, also from code that
 * never yields, and nobody waits for it. A text of one line.
 */
export function sendSignal(signal: string): void {
  if (isWorker()) process.stdout.write(`${SIGNAL}${signal}\n`);
  else sink?.(signal);
}

/** What takes the lines of a source besides the terminal, by the source. */
const takers = new Map<string, (lines: OutputLines) => void>();

/** Some lines that a worker has printed. */
export interface OutputLines {
  readonly stream: "stdout" | "stderr";
  readonly lines: readonly string[];
}

/**
 * Also gives a library what is printed under a source, the name of a call or of an actor's class, by any worker of this program; `logToDriver` does not matter. Output of native code and
 * of child processes is among it while the source printed last.
 *
 * @returns what ends it
 */
export function takeOutput(source: string, take: (lines: OutputLines) => void): () => void {
  takers.set(source, take);
  return () => {
    if (takers.get(source) === take) takers.delete(source);
  };
}

/** Output that is not to be printed here. */
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

/** Nobody may read on, as behind `| head`: what workers print is no reason to end the driver, and is dropped from then on. */
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
