/**
 * Runs a compiled graph by ordinary calls when shared memory is missing: in-process mode, no native part, another platform.
 *
 * The same graph gives the same results, slower. Unlike with channels, its actors take other calls in between. A dead actor is noticed by
 * the first call that fails because the actor ended.
 */
import { asError } from "../runtime/base/texts/describe.ts";
import { get, type ObjectRef } from "../core/index.ts";
import type { CompiledResult, GraphEngine } from "./compiled-graph.ts";
import { executeGraph } from "./execute.ts";
import type { NodeState } from "./node-state.ts";

interface CallEngineOptions {
  readonly root: NodeState;
  readonly slowerBecause: string;
  /** Whether an actor of the graph has ended; a failure may also be an error of the method. */
  readonly isActorLost: () => boolean;
  /** An actor of the graph has died. */
  readonly onActorLost: (error: Error) => void;
}

export class CallEngine implements GraphEngine {
  readonly transport = "calls";
  readonly slowerBecause: string;
  readonly #options: CallEngineOptions;
  readonly #pending = new Set<CompiledResult>();
  readonly #calls = new Set<Promise<void>>();

  constructor(options: CallEngineOptions) {
    this.#options = options;
    this.slowerBecause = options.slowerBecause;
  }

  submit(input: unknown, results: readonly CompiledResult[]): void {
    const { root } = this.#options;
    const executed = executeGraph(root, [input]);
    const refs = (root.kind === "outputs" ? executed : [executed]) as ObjectRef<unknown>[];
    for (const [index, result] of results.entries()) {
      this.#pending.add(result);
      // An internal `get`: nobody waits for the call, but for the result.
      const call = get(refs[index] as ObjectRef<unknown>)
        .then(
          (value) => this.#settle(result, "value", value),
          (error: unknown) => {
            // The actor's end closes the graph, and settles all pending results.
            if (this.#options.isActorLost()) this.#options.onActorLost(asError(error));
            this.#settle(result, "error", error);
          },
        )
        .finally(() => this.#calls.delete(call));
      this.#calls.add(call);
    }
  }

  poll(): void {}

  setAwaited(): void {}

  async close(reason: Error): Promise<void> {
    for (const result of this.#pending) this.#settle(result, "error", reason);
    await Promise.all(this.#calls);
  }

  #settle(result: CompiledResult, state: "value" | "error", value: unknown): void {
    if (this.#pending.delete(result)) result.settle(state, value);
  }
}
