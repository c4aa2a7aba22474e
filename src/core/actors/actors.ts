/**
 * The actors that this process knows: a client for each, those that it holds, those that it found by name, and who counts their handles.
 *
 * Stands on the calls, to which a client reports what became of them. Decides which daemon is the owner of record of an actor's reference: that of the process
 * that created it.
 */
import { type ActorId, actorObjectId, type ProcessId } from "../../runtime/base/ids.ts";
import type { ObjectTable } from "../../runtime/objects/object-table.ts";
import type { ContainedRef } from "../../runtime/objects/payload.ts";
import type { Connection } from "../../runtime/rpc/connection.ts";
import { type ActorLookupReply, type ActorStateHeader, MESSAGE } from "../../runtime/wire/messages.ts";
import { actorLostError } from "../calls/failures/call-failures.ts";
import type { Calls } from "../calls/calls.ts";
import type { ConnectWorker } from "../calls/links/worker-connections.ts";
import { ActorClient } from "./actor-client.ts";
import { HeldActors } from "./held-actors.ts";
import { NamedActors } from "./named-actors.ts";

interface ActorsOptions {
  readonly daemonId: ProcessId;
  readonly daemon: Connection;
  readonly table: ObjectTable;
  readonly calls: Calls;
  readonly connectWorker: ConnectWorker;
  /** Writes the gathered messages to the daemon at once. */
  readonly flushDaemon: () => void;
  /** Asks the head for an actor by its name. */
  readonly lookUp: (asked: { name: string; namespace: string }) => Promise<ActorLookupReply>;
}

export class Actors {
  readonly held: HeldActors;
  readonly named: NamedActors;
  /** The daemons that count the handles of actors which others created. */
  readonly owners = new Map<ActorId, ProcessId>();
  readonly #options: ActorsOptions;

  constructor(options: ActorsOptions) {
    this.#options = options;
    const { table, lookUp } = options;
    const refOf = (id: ActorId): ContainedRef => this.refOf(id);
    this.held = new HeldActors({ table, refOf });
    this.named = new NamedActors({ table, lookUp, clientOf: (found) => this.found(found), refOf });
  }

  /** The client of an actor; one per actor and process. `watch` asks the daemon to tell its state. */
  client(id: ActorId, className: string, { watch, isOwn = false }: { watch: boolean; isOwn?: boolean }): ActorClient {
    const { calls, connectWorker, daemon, flushDaemon } = this.#options;
    let client = calls.actors.get(id);
    if (client === undefined) {
      client = new ActorClient({
        id,
        className,
        connectWorker,
        flushDaemon,
        linkEvents: { onPlainResult: calls.onPlainResult, onResult: calls.onResult },
        fail: calls.onActorLost,
        failDependency: (record, entry) => calls.failWithDependency(record, entry),
        onIdle: () => this.held.becameIdle(id),
      });
      client.endsWithThisProcess = isOwn;
      calls.actors.set(id, client);
      if (watch) daemon.send(MESSAGE.ACTOR_WATCH, id);
    }
    return client;
  }

  /** The client of an actor that the head has found by its name. */
  found({ actorId, owner, interface: face }: ActorLookupReply): ActorClient {
    this.owners.set(actorId, owner);
    return this.client(actorId, face.className, { watch: true });
  }

  /** The client of an actor, if this process has one. */
  known(id: ActorId): ActorClient | undefined {
    return this.#options.calls.actors.get(id);
  }

  /** Whether actors live that end with this process. */
  get hasOwnLiving(): boolean {
    for (const client of this.#options.calls.actors.values())
      if (client.endsWithThisProcess && client.resolved === client && client.state?.phase !== "dead") return true;
    return false;
  }

  /** Why an actor is gone, for `ready`: the constructor's own error when that was it. */
  failureOf(client: ActorClient, why: ActorStateHeader | Error): Error {
    if (why instanceof Error) return why;
    return actorLostError(client.className, why, { sent: false, constructorError: client.constructorError });
  }

  refOf(id: ActorId): ContainedRef {
    const { table, daemonId } = this.#options;
    const owner = table.lookup(actorObjectId(id))?.owner ?? this.owners.get(id) ?? daemonId;
    return { id: actorObjectId(id), owner };
  }
}
