/**
 * Ctrl-C during long work of libraries: each piece of work ends properly, says in one line what is kept, and the process ends by the signal as it would have.
 *
 * Only while there is such work somebody listens to SIGINT, as any listener takes Node's own end away; and where the program has a listener of its own, that one decides and nothing
 * happens here. All libraries share the one listener: two would take each other for the program's. A second Ctrl-C ends the process at once.
 */

/** Work that is under way. */
interface InterruptibleWork {
  /** Ends it, and removes what is unfinished. Resolves when nothing of it is left. */
  abandon(): Promise<void>;
  /** How long that may take before the process ends all the same. */
  readonly withinMs: number;
  /** What is kept, as a sentence. */
  kept(): string;
}

const underWay = new Set<InterruptibleWork>();

/** Ends work properly on Ctrl-C, until what it gives is called. */
export function onInterruption(work: InterruptibleWork): () => void {
  if (underWay.size === 0) process.on("SIGINT", interrupted);
  underWay.add(work);
  return () => {
    if (underWay.delete(work) && underWay.size === 0) process.off("SIGINT", interrupted);
  };
}

function interrupted(): void {
  if (process.listenerCount("SIGINT") > 1) return;
  process.off("SIGINT", interrupted);
  const ended = [...underWay];
  const abandoned = ended.map(async (work) => {
    const timeIsUp = new Promise((resolve) => setTimeout(resolve, work.withinMs));
    await Promise.race([work.abandon().catch(() => {}), timeIsUp]);
  });
  void Promise.all(abandoned).then(() => {
    for (const work of ended) process.stderr.write(`shoal: ${work.kept()}\n`);
    process.kill(process.pid, "SIGINT");
  });
}
