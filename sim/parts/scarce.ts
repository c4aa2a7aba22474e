/**
 * Chains of tasks in simulated programs that need what there is little of: a GPU or half of one, memory, parts of a custom resource. Their results are large, so that they are lost with their node.
 *
 * Holds that each chain ends, whichever results were lost on the way. Tasks that need a lost result and tasks that make it again want the
 * same resource, and a node has just one. Nothing here awaits a ref while it has the resource, as that would wait for ever for a lost one,
 * as in Ray.
 */
import { get, type ObjectRef } from "../../src/index.ts";
import { isOutcome, type Outcome, type TaskSpec } from "../application.ts";
import type { PartContext, ProgramPart } from "./part.ts";

/** Amounts on each node, besides CPUs. */
export const SCARCE_RESOURCES: Readonly<Record<string, number>> = { GPU: 1, tenth: 1, memory: 1e9 };

type Need = Pick<TaskSpec, "resources" | "gpus" | "memoryBytes">;

const NEEDS: readonly Need[] = [
  { resources: {}, gpus: 1 },
  { resources: {}, gpus: 0.5 },
  { resources: { tenth: 0.4 } },
  { resources: {}, memoryBytes: 600e6 },
];

interface Chain {
  readonly need: Need;
  readonly refs: ObjectRef<Outcome>[];
  n: number;
}

const CHAINS_MAX = 3;

export class ScarcePart implements ProgramPart {
  readonly #context: PartContext;
  readonly #chains: Chain[] = [];

  constructor(context: PartContext) {
    this.#context = context;
  }

  step(): void {
    const { random } = this.#context;
    const draw = random.next();
    if (this.#chains.length === 0 || (draw < 0.3 && this.#chains.length < CHAINS_MAX))
      this.#chains.push({ need: random.pick(NEEDS), refs: [], n: 0 });
    const chain = random.pick(this.#chains);
    if (draw < 0.7 || chain.refs.length === 0) this.#lengthen(chain);
    else this.#use(chain);
  }

  end(): void {
    for (const chain of this.#chains) {
      this.#use(chain);
      for (const ref of chain.refs.splice(0)) ref[Symbol.dispose]();
    }
  }

  #lengthen(chain: Chain): void {
    const { app } = this.#context;
    const spec = this.#spec(chain, "large");
    const last = chain.refs.at(-1);
    chain.n = app.expected(spec, last === undefined ? [] : [chain.n]);
    chain.refs.push(app.submit(spec, last === undefined ? [] : [last]));
  }

  /** A task that reads the end of the chain. */
  #use(chain: Chain): void {
    const { app, track, violate } = this.#context;
    const last = chain.refs.at(-1);
    if (last === undefined) return;
    const spec = this.#spec(chain, "small");
    const n = app.expected(spec, [chain.n]);
    const ref = app.submit(spec, [last]);
    track(spec.key, async () => {
      try {
        const value = await get(ref);
        if (!isOutcome(value, n)) violate(`${spec.key} gave ${value.n} and not ${n}`);
      } catch (error) {
        violate(`${spec.key} with scarce resources failed: ${String((error as Error).stack)}`);
      } finally {
        ref[Symbol.dispose]();
      }
    });
  }

  #spec({ need }: Chain, size: TaskSpec["size"]): TaskSpec {
    const { random, newKey, driver } = this.#context;
    return {
      ...need,
      key: newKey("s"),
      ms: random.next() * 30,
      cpu: random.pick([0, 1]),
      maxRetries: -1,
      children: [],
      after: "forget",
      size,
      fails: false,
      line: [driver.process.name],
    };
  }
}
