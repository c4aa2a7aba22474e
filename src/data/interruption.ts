/**
 * Ctrl-C while a dataset is written: the files that are in place stay, what is unfinished is removed, one line says how much that is, and the process ends by the signal as it would have.
 *
 * Only while something is written somebody listens to SIGINT, as any listener takes Node's own end away; and where the program has a listener of its own, that one decides and nothing
 * happens here. A second Ctrl-C ends the process at once.
 */
import { INTERRUPTED_WRITE_MS } from "./limits.ts";

/** A write that is under way. */
interface InterruptibleWrite {
  /** Ends it and removes what is unfinished. */
  abandon(): Promise<void>;
  /** What is in place, as a sentence. */
  inPlace(): string;
}

const writes = new Set<InterruptibleWrite>();

/** Ends a write properly on Ctrl-C, until what it gives is called. */
export function onInterruption(write: InterruptibleWrite): () => void {
  if (writes.size === 0) process.on("SIGINT", interrupted);
  writes.add(write);
  return () => {
    if (writes.delete(write) && writes.size === 0) process.off("SIGINT", interrupted);
  };
}

function interrupted(): void {
  if (process.listenerCount("SIGINT") > 1) return;
  process.off("SIGINT", interrupted);
  const ended = [...writes];
  const timeIsUp = new Promise((resolve) => setTimeout(resolve, INTERRUPTED_WRITE_MS));
  const abandoned = Promise.all(ended.map(async (write) => write.abandon().catch(() => {})));
  void Promise.race([abandoned, timeIsUp]).then(() => {
    for (const write of ended) process.stderr.write(`shoal: ${write.inPlace()}\n`);
    process.kill(process.pid, "SIGINT");
  });
}
