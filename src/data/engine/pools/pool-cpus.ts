/**
 * The CPUs that the actors of pools hold, counted over all pipelines of this process, so that the tasks beside a pool always find one.
 *
 * An actor holds its CPUs as long as it lives, and a task waits for its own: actors on all CPUs would starve the read that feeds them. So a pipeline's pools get what its
 * tasks leave. Pools whose fewest actors ask for more than that hold less each, down to nothing on a single CPU, and do not grow.
 */

/** The CPUs that a pool asks for. */
interface PoolDemand {
  readonly min: number;
  readonly max: number;
  /** CPUs of each actor. */
  readonly numCpus: number;
}

/** CPUs are given in steps of this part of one. */
const CPU_STEPS = 10_000;

export class PoolCpus {
  #held = 0;

  /** The account of one pipeline, whose tasks need so many of the CPUs. */
  account(cpus: number, forTasks: number): CpuAccount {
    const own = new CpuAccount(forTasks, {
      heldByOthers: () => this.#held - own.held,
      onChange: (change) => {
        this.#held += change;
      },
    });
    own.fit(cpus);
    return own;
  }
}

interface AccountPorts {
  readonly heldByOthers: () => number;
  readonly onChange: (cpus: number) => void;
}

/** The CPUs of all pools of one pipeline. */
export class CpuAccount {
  readonly #forTasks: number;
  readonly #ports: AccountPorts;
  #room = 0;
  #held = 0;

  constructor(forTasks: number, ports: AccountPorts) {
    this.#forTasks = forTasks;
    this.#ports = ports;
  }

  get held(): number {
    return this.#held;
  }

  /** Limit on the CPUs of all pools. */
  get room(): number {
    return this.#room;
  }

  /** There are so many CPUs now, for tasks and for the pools of all pipelines. */
  fit(cpus: number): void {
    this.#room = Math.max(0, cpus - this.#forTasks - this.#ports.heldByOthers());
  }

  hasRoom(cpus: number): boolean {
    return this.#held + cpus <= this.#room + 1 / CPU_STEPS;
  }

  take(cpus: number): void {
    this.#held += cpus;
    this.#ports.onChange(cpus);
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
