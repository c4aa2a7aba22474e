/**
 * Ctrl-C during long work of libraries: each piece of work ends properly and says in one line which results are kept. Then the process ends
 * by the signal, as usual.
 *
 * The SIGINT listener exists only while such work runs, because any listener disables Node's default exit. Where the program has its own listener, that listener decides and nothing
 * happens here. All libraries share this listener: two would take each other for the program's. A second Ctrl-C ends the process at once.
 */

/** Work that is under way. */
interface InterruptibleWork {
  /** Ends the work and removes its unfinished output. Resolves when the cleanup is complete. */
  abandon(): Promise<void>;
  /** Time limit of `abandon`: afterwards the process ends anyway. */
  readonly withinMs: number;
  /** Describes the output that is kept, as a sentence. */
  kept(): string;
}

const underWay = new Set<InterruptibleWork>();

/** Ends work properly on Ctrl-C. @returns a function that unregisters the work */
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
