/**
 * Runs a compiled graph by ordinary calls, where there is no shared memory to be had: in-process mode, no native part, another platform.
 *
 * The same graph gives the same results, slower. Unlike with channels its actors take other calls in between. The end of one of its actors is
 * seen by the first call that fails with it.
 */
import { ActorDiedError, ActorUnavailableError } from "../base/errors.ts";
import { requireRuntime } from "../core/current-runtime.ts";
import type { CompiledResult, GraphEngine } from "./compiled-graph.ts";
import { executeGraph } from "./execute.ts";
import type { NodeState } from "./node-state.ts";

export interface CallEngineOptions {
  readonly root: NodeState;
  readonly takesInput: boolean;
  readonly slowerBecause: string;
  /** An actor of the graph has died. */
  readonly onActorLost: (error: Error) => void;
  /** The reason of the end, for results that are pending then. */
  readonly closedBy: () => Error | undefined;
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
    const { root, takesInput } = this.#options;
    const executed = executeGraph(root, takesInput ? [input] : []);
    const refs = (root.kind === "outputs" ? executed : [executed]) as PromiseLike<unknown>[];
    for (const [index, result] of results.entries()) {
      this.#pending.add(result);
      // A get of our own: nobody waits for the call, but for the result.
      const call = requireRuntime()
        .getOne(refs[index] as object, {})
        .then(
          (value) => this.#settle(result, "value", value),
          (error: unknown) => {
            this.#settle(result, "error", error);
            if (error instanceof ActorDiedError || error instanceof ActorUnavailableError) this.#options.onActorLost(error);
          },
        )
        .finally(() => this.#calls.delete(call));
      this.#calls.add(call);
    }
  }

  poll(): void {}

  setAwaited(): void {}

  async close(): Promise<void> {
    for (const result of this.#pending) this.#settle(result, "error", this.#options.closedBy());
    await Promise.all(this.#calls);
  }

  #settle(result: CompiledResult, state: "value" | "error", value: unknown): void {
    if (this.#pending.delete(result)) result.settle(state, value);
  }
}
