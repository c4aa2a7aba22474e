/**
 * The places of a worker's tasks: their resources and group, shared by all tasks of one shape and one set of accelerators.
 *
 * Keeps one object for each kind, so that a plain task costs a look-up. Also tells whether any place captures its tasks' own submissions.
 */
import { capturesChildren, specResources } from "../../scheduling/lease-spec.ts";
import type { AcceleratorIds } from "../../wire/messages.ts";
import type { Executor } from "../executor.ts";
import { type CallPlace, placing } from "../tasks/task-context.ts";

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
