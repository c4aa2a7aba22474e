/**
 * Actors found by their names: asked for at the head, and remembered as long as this process holds a handle.
 *
 * Decides when the answer of before still counts: the actor's state is told to whoever has a handle, so as long as one lives here and the state says alive, the name is this
 * actor's. Its death may be a moment old elsewhere before it is known here; the handle that is given out then fails as any handle would whose actor dies just after the answer. What this
 * process kills it forgets at once.
 */
import { type ActorId, actorObjectId } from "../../base/ids.ts";
import { ActorDiedError } from "../../base/errors.ts";
import { type ActorLookupReply, MESSAGE } from "../../wire/messages.ts";
import { type ActorInterface, interfaceFromWire } from "./actor-interface.ts";
import type { Runtime } from "../runtime.ts";

/** Names without a live handle are forgotten when there are so many. */
const REMEMBERED_MAX = 1000;

interface KnownName {
  id: ActorId;
  interface: ActorInterface;
}

export class NamedActors {
  readonly #runtime: Runtime;
  readonly #known = new Map<string, KnownName>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** @throws ActorDiedError when no living actor has that name in the namespace */
  async find(name: string, namespace: string): Promise<object> {
    const key = JSON.stringify([namespace, name]);
    const known = this.#known.get(key);
    if (known !== undefined && this.#isCurrent(known)) return this.#handleOf(known);
    const runtime = this.#runtime;
    let found: ActorLookupReply;
    try {
      found = (await runtime.holdWhile(runtime.daemon.request(MESSAGE.ACTOR_LOOKUP, { name, namespace }))).header as ActorLookupReply;
    } catch (error) {
      throw new ActorDiedError(`Cannot get actor ${JSON.stringify(name)}: ${(error as Error).message}`, {
        reason: "no actor has that name",
        hint: "Create it first with the option name, and look it up in the same namespace.",
      });
    }
    const fresh = { id: found.actorId, interface: interfaceFromWire(found.interface) };
    this.#remember(key, fresh);
    runtime.actorOwners.set(fresh.id, found.owner);
    // The hold came with the answer; the handle's own keeps the entry from here on.
    const entry = runtime.table.receive(runtime.actorRef(fresh.id));
    const handle = this.#handleOf(fresh);
    runtime.table.unpin(entry);
    return handle;
  }

  forget(id: ActorId): void {
    for (const [key, known] of this.#known) if (known.id === id) this.#known.delete(key);
  }

  #handleOf({ id, interface: face }: KnownName): object {
    const client = this.#runtime.actor(id, face.className, { watch: true });
    return this.#runtime.handles.received({ client, interface: face });
  }

  #isCurrent({ id }: KnownName): boolean {
    const entry = this.#runtime.table.lookup(actorObjectId(id));
    return entry !== undefined && (entry.handles > 0 || entry.pins > 0) && this.#runtime.knownActor(id)?.state?.phase === "alive";
  }

  #remember(key: string, known: KnownName): void {
    if (this.#known.size >= REMEMBERED_MAX)
      for (const [other, named] of this.#known) if (!this.#isCurrent(named)) this.#known.delete(other);
    this.#known.set(key, known);
  }
}
