/**
 * A tree of actors: a supervisor makes workers, shares out jobs among them, and makes a worker anew when its process dies. Callers of the
 * supervisor do not notice.
 *
 *   node examples/supervisor.ts [JOBS]
 */
import { ActorDiedError, type ActorHandle, remote, shutdown } from "shoal";

const WORKERS = 3;
/** Every seventh job is one that the worker's process does not survive the first time. */
const DEADLY = 7;

class Worker {
  square(job: number, attempt: number): number {
    if (job % DEADLY === 0 && attempt === 1) process.exit(1);
    return job * job;
  }
}

/** Calls of a supervisor overlap, so that it hands out the next job while others are under way. */
class Supervisor {
  readonly #workers: ActorHandle<Worker>[] = [];
  #replaced = 0;

  constructor(workers: number) {
    for (let index = 0; index < workers; index += 1) this.#workers.push(remote(Worker).remote());
  }

  async run(job: number): Promise<number> {
    for (let attempt = 1; ; attempt += 1) {
      const place = job % this.#workers.length;
      const worker = this.#workers[place] as ActorHandle<Worker>;
      try {
        return await worker.square.remote(job, attempt);
      } catch (error) {
        if (!(error instanceof ActorDiedError)) throw error;
        // Several calls may have seen the same death: the first of them makes the next worker.
        if (this.#workers[place] !== worker) continue;
        this.#workers[place] = remote(Worker).remote();
        this.#replaced += 1;
      }
    }
  }

  replaced(): number {
    return this.#replaced;
  }
}

async function main(): Promise<void> {
  const jobs = Number(process.argv[2] ?? 20);
  if (!Number.isInteger(jobs) || jobs < 1) {
    console.error("supervisor: JOBS must be a whole number from 1\nusage: node examples/supervisor.ts [JOBS]");
    process.exitCode = 2;
    return;
  }
  try {
    using supervisor = remote(Supervisor, { maxConcurrency: 100 }).remote(WORKERS);
    const squares = await Promise.all(Array.from({ length: jobs }, (_, index) => supervisor.run.remote(index + 1)));
    console.log(`${jobs} jobs done, the sum of their results is ${squares.reduce((sum, square) => sum + square, 0)}`);
    console.log(`workers that died and were replaced: ${(await supervisor.replaced.remote()) > 0 ? "some" : "none"}`);
  } finally {
    await shutdown();
  }
}

await main();
