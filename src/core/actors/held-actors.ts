/**
 * The actors that this process keeps alive, and the moment at which it lets them go.
 *
 * An actor created here is held until one of its handles here is disposed of, or its creating task ends; earlier calls are answered first. Actors of other
 * processes are not held here: their handles are counted like refs.
 */
import { type ActorId, actorObjectId } from "../../runtime/base/ids.ts";
import type { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../runtime/objects/object-table.ts";
import type { ContainedRef } from "../../runtime/objects/payload.ts";
import { taskContext } from "../../runtime/worker/tasks/task-context.ts";
import type { ActorClient } from "./actor-client.ts";

export class HeldActors {
  readonly #table: ObjectTable;
  readonly #refOf: (id: ActorId) => ContainedRef;
  readonly #held = new Map<ActorId, ObjectEntry>();
  /** Let go of, once their last answers are here. */
  readonly #ending = new Set<ActorClient>();

  constructor(options: { table: ObjectTable; refOf: (id: ActorId) => ContainedRef }) {
    this.#table = options.table;
    this.#refOf = options.refOf;
  }

  entryOf(id: ActorId): ObjectEntry {
    return this.#table.lookup(actorObjectId(id)) ?? this.#table.adoptForeign(this.#refOf(id));
  }

  /** Holds an actor that this process creates. */
  hold(client: ActorClient): ObjectEntry {
    const entry = this.entryOf(client.id);
    this.#table.pin(entry);
    this.#held.set(client.id, entry);
    const context = taskContext.current;
    if (context?.place.executor !== undefined && !context.isFinished) {
      context.onFinished ??= [];
      context.onFinished.push(() => this.letGo(client));
    }
    return entry;
  }

  /** @returns whether this process holds it */
  letGo(client: ActorClient): boolean {
    if (!this.#held.has(client.id)) return false;
    this.#ending.add(client);
    if (client.resolved.pendingCount === 0) this.becameIdle(client.resolved.id);
    return true;
  }

  becameIdle(id: ActorId): void {
    for (const client of this.#ending) {
      if (client.resolved.id !== id) continue;
      this.#ending.delete(client);
      const entry = this.#held.get(client.id);
      this.#held.delete(client.id);
      if (entry !== undefined) this.#table.unpin(entry);
    }
  }

  /** `getIfExists` found an actor: it is held in place of the one that was asked for. The hold came with the answer. */
  redirected(asked: ActorId, existing: ActorId): void {
    const entry = this.#table.receive(this.#refOf(existing));
    const before = this.#held.get(asked);
    if (before !== undefined) this.#held.set(asked, entry);
    this.#table.unpin(before ?? entry);
  }
}
