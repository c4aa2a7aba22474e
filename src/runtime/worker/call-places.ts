/**
 * Where the tasks of a worker run: what they hold and in which group, shared by all tasks of one shape and one set of accelerators.
 *
 * Keeps one object per kind, so that a plain task costs a look-up, and says once whether anything here captures what it submits.
 */
import { capturesChildren, specResources } from "../scheduling/lease-spec.ts";
import type { AcceleratorIds } from "../wire/messages.ts";
import type { Executor } from "./executor.ts";
import { type CallPlace, placing } from "./task-context.ts";

export class CallPlaces {
  readonly #executor: Executor;
  readonly #places = new Map<string, CallPlace>();

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  of(shape: string, accelerators: AcceleratorIds | undefined): CallPlace {
    const key = accelerators === undefined ? shape : `${shape} ${JSON.stringify(accelerators)}`;
    let place = this.#places.get(key);
    if (place === undefined) {
      const executor = this.#executor;
      if (capturesChildren(shape)) placing.isInherited = true;
      place = {
        actor: undefined,
        actorName: undefined,
        incarnation: 0,
        shape,
        resources: specResources(shape),
        accelerators,
        executor,
        isSerial: false,
      };
      this.#places.set(key, place);
    }
    return place;
  }
}
