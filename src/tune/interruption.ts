/**
 * Ctrl-C while an experiment runs: trials end, the state is written, one line says what is there and how to go on, and the process ends by the signal as it would have.
 *
 * Only while one runs somebody listens to SIGINT; where the program has a listener of its own, that one decides and nothing happens here. A second Ctrl-C ends the process at once.
 */
import { INTERRUPTED_RUN_MS } from "./limits.ts";

/** A run that is under way. */
interface InterruptibleRun {
  abandon(): Promise<void>;
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
  const timeIsUp = new Promise((resolve) => setTimeout(resolve, INTERRUPTED_RUN_MS));
  const abandoned = Promise.all(ended.map(async (run) => run.abandon().catch(() => {})));
  void Promise.race([abandoned, timeIsUp]).then(() => {
    for (const run of ended) process.stderr.write(`shoal tune: ${run.kept()}\n`);
    process.kill(process.pid, "SIGINT");
  });
}
