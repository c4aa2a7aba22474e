/**
 * A worker's process that starts before its purpose is known: it loads the runtime and waits for its configuration.
 *
 * A spare process's output is kept, and its end ignored, until a taker sets listeners. The launcher makes spare processes for jobs of a
 * cluster. A daemon that has only begun to load makes them, too (`entry/daemon-start.ts`), so this file imports little.
 */
import { usableMemoryBytes, workerHeapFlags } from "../../os/machine/machine.ts";
import { inspectorFlags } from "../../os/inspector/inspector-flags.ts";
import { Child } from "../../os/processes/worker-process.ts";

/** The first line for a process that was started before it was known for whom; the configuration follows. */
export interface SpareConfiguration {
  isSpare: true;
}

/** Listeners for a child's output and end, which a spare process's taker sets. */
export interface Listeners {
  onLine: ConstructorParameters<typeof Child>[0]["onLine"];
  onExit: ConstructorParameters<typeof Child>[0]["onExit"];
}

export interface SpareProcess {
  readonly child: Child;
  /** Hands the process to a taker, together with its output so far, which may say why it could not start. */
  readonly take: (listeners: Listeners) => void;
}

interface SpareProcessOptions {
  readonly entry: string;
  readonly execArgv: readonly string[];
  /** Number of workers when all CPUs of the node are at work. */
  readonly cpus: number;
}

/** A process that waits prints nothing unless something is wrong with it. */
const KEPT_LINES_MAX = 200;

/** @param gone called when it ends before it has a taker */
export function startSpareProcess({ entry, execArgv, cpus }: SpareProcessOptions, gone: () => void): SpareProcess {
  const printed: Parameters<Listeners["onLine"]>[] = [];
  const keep: Listeners["onLine"] = (stream, line) => {
    if (printed.push([stream, line]) > KEPT_LINES_MAX) printed.shift();
  };
  let listeners: Listeners = { onLine: keep, onExit: gone };
  const configuration: SpareConfiguration = { isSpare: true };
  const nodeOptions = process.env["NODE_OPTIONS"];
  const child = new Child({
    entry,
    execArgv: [
      ...execArgv,
      ...workerHeapFlags({ memoryBytes: usableMemoryBytes(), cpus, execArgv, nodeOptions }),
      ...inspectorFlags(execArgv, nodeOptions),
    ],
    configuration,
    onLine: (stream, line) => listeners.onLine(stream, line),
    onMessage: () => {},
    onExit: (exit) => listeners.onExit(exit),
  });
  return {
    child,
    take: (taker) => {
      listeners = taker;
      for (const [stream, line] of printed.splice(0)) taker.onLine(stream, line);
    },
  };
}
