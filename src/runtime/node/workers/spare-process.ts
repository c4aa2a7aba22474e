/**
 * A worker's process that has been started before it is known for whom: it loads the runtime and waits for its configuration.
 *
 * What it prints is kept, and its end nobody's, until it has a taker, who puts listeners of its own in place. Made by the launcher for jobs of a cluster, and by a daemon
 * that has only begun to load itself (`entry/daemon-start.ts`), for which reason this file imports little.
 */
import { usableMemoryBytes, workerHeapFlags } from "../../os/machine/machine.ts";
import { Child } from "../../os/processes/worker-process.ts";

/** The first line for a process that was started before it was known for whom; the configuration follows. */
export interface SpareConfiguration {
  isSpare: true;
}

/** What becomes of what a child prints and of its end: a spare one's are its taker's, once there is one. */
export interface Listeners {
  onLine: ConstructorParameters<typeof Child>[0]["onLine"];
  onExit: ConstructorParameters<typeof Child>[0]["onExit"];
}

export interface SpareProcess {
  readonly child: Child;
  /** From now on it is the taker's, who is told what it has printed: why it could not start, perhaps. */
  readonly take: (listeners: Listeners) => void;
}

interface SpareProcessOptions {
  readonly entry: string;
  readonly execArgv: readonly string[];
  /** How many workers the node has when all of its CPUs are at work. */
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
    execArgv: [...execArgv, ...workerHeapFlags({ memoryBytes: usableMemoryBytes(), cpus, execArgv, nodeOptions })],
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
