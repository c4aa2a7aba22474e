/**
 * The CPUs that the actors of pools hold, counted over all pipelines of this process, so that the tasks beside a pool always find one.
 *
 * An actor holds its CPUs as long as it lives, and a task waits for its own: actors on all CPUs would starve the read that feeds them. So a pipeline's pools get what its
 * tasks leave. Pools whose fewest actors ask for more than that hold less each, down to nothing on a single CPU, and do not grow.
 */

/** What a pool asks for. */
interface PoolDemand {
  readonly min: number;
  readonly max: number;
  /** Of an actor. */
  readonly numCpus: number;
}

/** CPUs are given in steps of this part of one. */
const CPU_STEPS = 10_000;

export class PoolCpus {
  #held = 0;

  /** CPUs that the pools of a pipeline may hold beside those that hold some already. */
  room(cpus: number, forTasks: number): number {
    return Math.max(0, cpus - forTasks - this.#held);
  }

  /** The account of one pipeline. */
  account(room: number): CpuAccount {
    return new CpuAccount(room, (cpus) => {
      this.#held += cpus;
    });
  }
}

/** What the pools of one pipeline hold together. */
export class CpuAccount {
  readonly #room: number;
  readonly #onChange: (cpus: number) => void;
  #held = 0;

  constructor(room: number, onChange: (cpus: number) => void = () => {}) {
    this.#room = room;
    this.#onChange = onChange;
  }

  hasRoom(cpus: number): boolean {
    return this.#held + cpus <= this.#room + 1 / CPU_STEPS;
  }

  take(cpus: number): void {
    this.#held += cpus;
    this.#onChange(cpus);
  }

  give(cpus: number): void {
    this.take(-cpus);
  }
}

/** The pools with as many CPUs an actor as there is room for. */
export function fitPools<P extends PoolDemand>(pools: readonly P[], room: number): P[] {
  const wanted = pools.reduce((sum, { min, numCpus }) => sum + min * numCpus, 0);
  if (wanted <= room) return [...pools];
  return pools.map((pool) =>
    pool.numCpus === 0 ? pool : { ...pool, max: pool.min, numCpus: Math.floor((pool.numCpus * room * CPU_STEPS) / wanted) / CPU_STEPS },
  );
}
