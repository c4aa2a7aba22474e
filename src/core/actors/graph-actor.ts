/**
 * An actor as compiled graphs see it: `GraphActor` over the actor's client and the runtime.
 *
 * The part of a graph is one call of a reserved method, which lasts as long as the graph; so the actor's death is the failure of that call. The call
 * is awaited only once it has settled, because a pending `get` would keep the driver alive.
 */
import type { ProcessId } from "../../runtime/base/ids.ts";
import type { ActorStateHeader } from "../../runtime/wire/messages.ts";
import type { GraphPlan } from "../../runtime/worker/graphs/graph-operations.ts";
import { GRAPH_METHOD } from "../../runtime/worker/actors/reserved-methods.ts";
import type { GraphActor } from "../graph-binder.ts";
import { entryOf } from "../objects/object-ref.ts";
import { resolveMethodOptions } from "../options/options.ts";
import type { Runtime } from "../runtime.ts";
import type { ActorClient } from "./actor-client.ts";

export class GraphActorOfClient implements GraphActor {
  readonly #client: ActorClient;
  readonly #runtime: Runtime;

  constructor(client: ActorClient, runtime: Runtime) {
    this.#client = client;
    this.#runtime = runtime;
  }

  get className(): string {
    return this.#client.className;
  }

  get identity(): object {
    return this.#client.resolved;
  }

  get processId(): ProcessId | undefined {
    const { state } = this.#client.resolved;
    return state?.phase === "alive" ? state.processId : undefined;
  }

  ready(): Promise<void> {
    const ready = this.#client.ready().catch((why: ActorStateHeader | Error) => {
      throw this.#runtime.actors.failureOf(this.#client.resolved, why);
    });
    return this.#runtime.holdWhile(ready);
  }

  runGraph(plan: GraphPlan): Promise<void> {
    const target = {
      kind: "method" as const,
      id: GRAPH_METHOD,
      name: `${this.className} in a compiled graph`,
      meanMs: 0,
      group: undefined,
    };
    const ref = this.#runtime.calls.callActor(this.#client, target, [plan], resolveMethodOptions({}, { maxRetries: 0 })) as object;
    const entry = entryOf(ref);
    // The graph tells its failure to whoever awaits results.
    entry.failureSeen = true;
    return new Promise((resolve, reject) => {
      const settled = (): void => {
        this.#runtime.getOne(ref, {}).then(() => resolve(), reject);
      };
      if (entry.isSettled) settled();
      else entry.addWaiter({ entrySettled: settled });
    });
  }
}
