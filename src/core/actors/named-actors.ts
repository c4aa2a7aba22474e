/**
 * Finds actors by name: asks the head, and remembers the answer while this process holds a handle.
 *
 * Holders of a handle receive the actor's state. So while a handle lives here and the state is alive, the name still means this actor. Its death may be known
 * elsewhere a moment earlier; a handle given out meanwhile fails like any handle whose actor dies just after the answer. Actors that this process kills are
 * forgotten at once.
 */
import { messageOf } from "../../runtime/base/texts/describe.ts";
import type { ActorId } from "../../runtime/base/ids.ts";
import { ActorDiedError } from "../../runtime/base/errors.ts";
import type { ActorLookupReply } from "../../runtime/wire/messages.ts";
import type { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../runtime/objects/object-table.ts";
import type { ContainedRef } from "../../runtime/objects/payload.ts";
import type { ActorClient } from "./actor-client.ts";
import { type ActorInterface, interfaceFromWire } from "./actor-interface.ts";

/** Names without a live handle are forgotten when there are so many. */
const REMEMBERED_MAX = 1000;

interface NamedActorsOptions {
  table: ObjectTable;
  lookUp: (asked: { name: string; namespace: string }) => Promise<ActorLookupReply>;
  /** The client of an actor that was found. */
  clientOf: (found: ActorLookupReply) => ActorClient;
  refOf: (id: ActorId) => ContainedRef;
}

/** An actor that has a name. */
interface NamedActor {
  interface: ActorInterface;
  client: ActorClient;
  entry: ObjectEntry;
}

export class NamedActors {
  readonly #options: NamedActorsOptions;
  /** By namespace and name. */
  readonly #known = new Map<string, Map<string, NamedActor>>();
  #count = 0;

  constructor(options: NamedActorsOptions) {
    this.#options = options;
  }

  /**
   * `newHandle` is called while the actor is held; its handle keeps it from then on.
   *
   * @throws ActorDiedError when no living actor has that name in the namespace
   */
  async find(name: string, namespace: string, newHandle: (found: NamedActor) => object): Promise<object> {
    const known = this.#known.get(namespace)?.get(name);
    if (known !== undefined && this.#isCurrent(known)) return newHandle(known);
    const { table, lookUp, clientOf, refOf } = this.#options;
    let found: ActorLookupReply;
    try {
      found = await lookUp({ name, namespace });
    } catch (error) {
      throw new ActorDiedError(`Cannot get actor ${JSON.stringify(name)}: ${messageOf(error)}`, {
        reason: "no actor has that name",
        hint: "Create it first with the option name, and look it up in the same namespace.",
        // As of a call that was not sent: nothing has begun.
        details: { name, namespace, sent: false },
      });
    }
    const client = clientOf(found);
    // The hold came with the answer.
    const entry = table.receive(refOf(found.actorId));
    const fresh = { interface: interfaceFromWire(found.interface), client, entry };
    this.#remember({ name, namespace }, fresh);
    const handle = newHandle(fresh);
    table.unpin(entry);
    return handle;
  }

  forget(id: ActorId): void {
    this.#forgetThose(({ client }) => client.id === id);
  }

  /** An entry without handles and pins may be another's by now, or nobody's. */
  #isCurrent({ entry, client }: NamedActor): boolean {
    return (entry.handles > 0 || entry.pins > 0) && client.state?.phase === "alive";
  }

  #remember({ name, namespace }: { name: string; namespace: string }, known: NamedActor): void {
    if (this.#count >= REMEMBERED_MAX) this.#forgetThose((other) => !this.#isCurrent(other));
    let names = this.#known.get(namespace);
    if (names === undefined) {
      names = new Map();
      this.#known.set(namespace, names);
    }
    if (!names.has(name)) this.#count += 1;
    names.set(name, known);
  }

  #forgetThose(isForgotten: (known: NamedActor) => boolean): void {
    for (const [namespace, names] of this.#known) {
      for (const [name, known] of names) if (isForgotten(known) && names.delete(name)) this.#count -= 1;
      if (names.size === 0) this.#known.delete(namespace);
    }
  }
}
