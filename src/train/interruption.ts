/**
 * Ctrl-C during `fit`: the ranks end, what was written stays, one line says how to go on, and the process ends by the signal as it would have.
 *
 * Only while something trains somebody listens to SIGINT, and where the program has a listener of its own, that one decides and nothing happens here. A second Ctrl-C ends the process at once.
 */
import { INTERRUPTED_MS } from "./limits.ts";

export interface InterruptibleRun {
  /** Ends it. Resolves when no process of it is left. */
  interrupt(): Promise<void>;
  /** What is kept, as a sentence. */
  kept(): string;
}

const runs = new Set<InterruptibleRun>();

/** Ends a run properly on Ctrl-C, until what it gives is called. */
export function onInterruption(run: InterruptibleRun): () => void {
  if (runs.size === 0) process.on("SIGINT", interrupted);
  runs.add(run);
  return () => {
    if (runs.delete(run) && runs.size === 0) process.off("SIGINT", interrupted);
  };
}

function interrupted(): void {
  if (process.listenerCount("SIGINT") > 1) return;
  process.off("SIGINT", interrupted);
  const ended = [...runs];
  const timeIsUp = new Promise((resolve) => setTimeout(resolve, INTERRUPTED_MS));
  void Promise.race([Promise.allSettled(ended.map((run) => run.interrupt())), timeIsUp]).then(() => {
    for (const run of ended) process.stderr.write(`shoal: ${run.kept()}\n`);
    process.kill(process.pid, "SIGINT");
  });
}
