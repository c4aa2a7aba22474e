/**
 * The pools of actors of one pipeline, and the CPUs of their actors.
 *
 * The CPUs are fitted to the cluster when the pipeline begins, and again after the cluster has shrunk. Otherwise actors sized by a dead node's CPUs would leave
 * none for the tasks that feed them.
 */
import { POOL_LOOK_MS } from "../../limits.ts";
import { type PhysicalPlan, physicalInputs } from "../../plan/physical-plan.ts";
import type { ActorPoolOperator } from "../operators/actor-operator.ts";
import { type CpuAccount, fitPools, PoolCpus } from "./pool-cpus.ts";

/** The allowed size of a pool. */
interface PoolSize {
  readonly min: number;
  readonly max: number;
  /** CPUs of each actor. */
  readonly numCpus: number;
}

interface Pool extends PoolSize {
  readonly plan: PhysicalPlan;
}

const allPools = new PoolCpus();

export class Pools {
  readonly cpus: CpuAccount;
  readonly #wanted: readonly Pool[];
  readonly #operators = new Map<PhysicalPlan, ActorPoolOperator>();
  #sizes = new Map<PhysicalPlan, PoolSize>();
  #clusterCpus: number;

  constructor(plan: PhysicalPlan, clusterCpus: number) {
    const wanted: Pool[] = [];
    let forTasks = 0;
    const look = (node: PhysicalPlan): void => {
      if (node.kind === "map" && node.compute?.kind === "actors") {
        const { min, max, numCpus } = node.compute;
        wanted.push({ plan: node, min, max: max ?? Math.max(min, clusterCpus), numCpus });
      } else if ("chain" in node) forTasks = Math.max(forTasks, node.options.numCpus ?? 1);
      physicalInputs(node).forEach(look);
    };
    look(plan);
    this.#wanted = wanted;
    this.#clusterCpus = clusterCpus;
    this.cpus = allPools.account(clusterCpus, forTasks);
    this.#fit();
  }

  sizeOf(plan: PhysicalPlan): PoolSize {
    return this.#sizes.get(plan) as PoolSize;
  }

  /** The pool's operator, which hears from now on when it has to become smaller. */
  made(plan: PhysicalPlan, operator: ActorPoolOperator): void {
    this.#operators.set(plan, operator);
  }

  /** Watches the size of the cluster. @returns a function that ends the watch */
  watch(clusterCpus: () => Promise<number>): () => void {
    if (this.#wanted.length === 0) return () => {};
    const timer = setInterval(() => {
      // Without a session there is nothing to fit.
      clusterCpus().then(
        (cpus) => this.#look(cpus),
        () => {},
      );
    }, POOL_LOOK_MS);
    timer.unref();
    return () => clearInterval(timer);
  }

  /** Shrinks pools to the cluster. A pool does not grow back when there are more CPUs. */
  #look(cpus: number): void {
    if (cpus >= this.#clusterCpus) return;
    this.#clusterCpus = cpus;
    this.cpus.fit(cpus);
    this.#fit();
    for (const [plan, operator] of this.#operators) operator.fit(this.sizeOf(plan));
  }

  #fit(): void {
    this.#sizes = new Map(fitPools(this.#wanted, this.cpus.room).map((pool) => [pool.plan, pool]));
  }
}
