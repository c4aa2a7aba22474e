/**
 * A tree of actors: supervisors that make workers of their own, give them work, and put another in the place of one that dies.
 *
 * The driver talks to the supervisors alone. When a supervisor ends, its workers end with it, as it made them.
 */
import { ActorDiedError, type ActorHandle, get, remote, shutdown } from "shoal";

const SUPERVISORS = 2;
const WORKERS_EACH = 2;
const ATTEMPTS_MAX = 3;

class Worker {
  /** The sum of the numbers up to a limit. Thirteen brings bad luck, the first time. */
  work(limit: number, attempt: number): number {
    if (limit === 13 && attempt === 1) process.exit(1);
    return (limit * (limit + 1)) / 2;
  }
}

const WorkerActor = remote(Worker, { numCpus: 0 });

class Supervisor {
  readonly #workers = Array.from({ length: WORKERS_EACH }, () => WorkerActor.remote());
  #replaced = 0;

  /** The sum of all results; a piece of work whose worker died is done by the next one. */
  async workAll(limits: number[]): Promise<number> {
    const results = await Promise.all(limits.map((limit, index) => this.#work(limit, index % WORKERS_EACH)));
    return results.reduce((sum, result) => sum + result, 0);
  }

  replaced(): number {
    return this.#replaced;
  }

  async #work(limit: number, place: number): Promise<number> {
    for (let attempt = 1; ; attempt += 1) {
      const worker = this.#workers[place] as ActorHandle<Worker>;
      try {
        return await worker.work.remote(limit, attempt);
      } catch (error) {
        if (!(error instanceof ActorDiedError) || attempt === ATTEMPTS_MAX) throw error;
        // Other calls that had the same worker come here too; the first of them makes the new one.
        if (this.#workers[place] !== worker) continue;
        this.#replaced += 1;
        this.#workers[place] = WorkerActor.remote();
      }
    }
  }
}

const SupervisorActor = remote(Supervisor, { numCpus: 0 });
const supervisors = Array.from({ length: SUPERVISORS }, () => SupervisorActor.remote());
const sums = await get(supervisors.map((supervisor, index) => supervisor.workAll.remote([10 + index, 20, 13, 30])));
const replaced = await get(supervisors.map((supervisor) => supervisor.replaced.remote()));
console.log(`sums: ${sums.join(" ")}`);
console.log(`workers replaced: ${replaced.join(" ")}`);
await shutdown();
