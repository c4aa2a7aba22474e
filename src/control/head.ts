/**
 * The head: actors and their names, and the definitions of functions and classes.
 *
 * The shell around the actor table: messages become its events, its effects become messages and requests to the node. Decides nothing about
 * where an actor runs, which is the node's matter, nor when a reference is free, which is the ledger's.
 */
import { type ActorId, actorObjectId, type ProcessId } from "../base/ids.ts";
import { copyBytes } from "../base/bytes.ts";
import type { HeadPeer, HeadService, NodeServices } from "../rpc/head-service.ts";
import type { Frame } from "../wire/frame.ts";
import {
  type ActorCreateHeader,
  type ActorLookupReply,
  type ActorStartHeader,
  type ActorStateHeader,
  type DefinitionHeader,
  MESSAGE,
  type PayloadHeader,
  type WorkerExitedHeader,
} from "../wire/messages.ts";
import { type ActorEffect, type ActorRecord, ActorTable } from "./actor-table.ts";
import { DefinitionTable } from "./definition-table.ts";

export class Head implements HeadService {
  readonly #node: NodeServices;
  readonly #actors = new ActorTable();
  readonly #definitions = new DefinitionTable();

  constructor(node: NodeServices) {
    this.#node = node;
  }

  receive(peer: HeadPeer, frame: Frame, header: unknown): void {
    switch (frame.type) {
      case MESSAGE.DEFINE:
        this.#definitions.define(header as DefinitionHeader, frame.body);
        return;
      case MESSAGE.FETCH_DEFINITION: {
        const { callId } = frame;
        this.#definitions.fetch(header as string, (found) => peer.connection.reply(callId, found.header, [found.body]));
        return;
      }
      case MESSAGE.ACTOR_CREATE:
        this.#create(peer, frame, header as ActorCreateHeader);
        return;
      case MESSAGE.ACTOR_LOOKUP:
        this.#lookup(peer, frame.callId, header as { name: string; namespace: string });
        return;
      case MESSAGE.ACTOR_WATCH:
        this.#apply(this.#actors.handle({ kind: "watch", id: header as ActorId, process: peer.id }));
        return;
      case MESSAGE.ACTOR_KILL: {
        const { actorId, restart } = header as { actorId: ActorId; restart: boolean };
        this.#apply(this.#actors.handle({ kind: "kill", id: actorId, restart }));
        return;
      }
      case MESSAGE.ACTOR_STARTED: {
        const { actorId, incarnation } = header as { actorId: ActorId; incarnation: number };
        this.#apply(this.#actors.handle({ kind: "started", id: actorId, incarnation }));
        return;
      }
      case MESSAGE.ACTOR_START_FAILED: {
        const { actorId, incarnation, error } = header as { actorId: ActorId; incarnation: number; error: PayloadHeader };
        this.#apply(
          this.#actors.handle({ kind: "startFailed", id: actorId, incarnation, error: { header: error, body: copyBytes(frame.body) } }),
        );
        return;
      }
    }
  }

  placed(actor: ActorId, worker: ProcessId): void {
    this.#apply(this.#actors.handle({ kind: "placed", id: actor, worker }));
  }

  workerExited(worker: ProcessId, exit: WorkerExitedHeader, { intended }: { intended: boolean }): void {
    this.#apply(this.#actors.handle({ kind: "workerExited", worker, exit, intended }));
  }

  processGone(process: ProcessId): void {
    this.#apply(this.#actors.handle({ kind: "processGone", process }));
  }

  unheld(actor: ActorId): void {
    this.#apply(this.#actors.handle({ kind: "unheld", id: actor }));
  }

  describe(actor: ActorId): string | undefined {
    return this.#actors.get(actor)?.options.interface.className;
  }

  #create(peer: HeadPeer, frame: Frame, header: ActorCreateHeader): void {
    const { actorId, definition, options, args, deps } = header;
    const { name, namespace } = options;
    const existing = name === undefined ? undefined : this.#actors.named(name, namespace);
    if (existing !== undefined && !options.getIfExists) {
      peer.connection.replyError(
        frame.callId,
        `an actor named ${JSON.stringify(name)} exists already in namespace ${JSON.stringify(namespace)}`,
      );
      return;
    }
    if (existing !== undefined) {
      this.#holdActor(existing.id, peer);
      peer.connection.reply(frame.callId, describeActor(existing));
      this.#apply(this.#actors.handle({ kind: "found", id: actorId, existing: existing.id }));
      return;
    }
    const spec = { definition, args, deps, body: copyBytes(frame.body) };
    const effects = this.#actors.handle({ kind: "create", id: actorId, creator: peer.id, options, spec });
    peer.connection.reply(frame.callId, { actorId, interface: options.interface });
    this.#apply(effects);
  }

  #lookup(peer: HeadPeer, callId: number, query: { name: string; namespace: string }): void {
    const found = this.#actors.named(query.name, query.namespace);
    if (found === undefined) {
      const known = this.#actors.names().filter((other) => other.namespace === query.namespace);
      const list = known.length === 0 ? "no named actor is alive there" : `alive there: ${known.map((other) => other.name).join(", ")}`;
      peer.connection.replyError(
        callId,
        `no actor named ${JSON.stringify(query.name)} in namespace ${JSON.stringify(query.namespace)}; ${list}`,
      );
      return;
    }
    this.#holdActor(found.id, peer);
    peer.connection.reply(callId, describeActor(found));
  }

  #holdActor(actor: ActorId, peer: HeadPeer): void {
    this.#node.hold({ id: actorObjectId(actor), owner: this.#node.daemonId }, peer.holderId);
  }

  #apply(effects: readonly ActorEffect[]): void {
    for (const effect of effects) {
      const { actor } = effect;
      switch (effect.kind) {
        case "place":
          this.#node.placeActor(actor.id, actor.options.resources);
          break;
        case "start":
          this.#start(actor, effect.worker);
          break;
        case "state":
          for (const watcher of effect.watchers) this.#sendState(actor, watcher);
          break;
        case "redirect":
          for (const watcher of effect.watchers) this.#node.peer(watcher)?.connection.send(MESSAGE.ACTOR_REDIRECT, [effect.from, actor.id]);
          break;
        case "end":
          this.#node.endActor(effect.worker, effect);
          break;
        case "gone":
          this.#node.actorGone(actor.id);
          break;
      }
    }
  }

  #start(actor: ActorRecord, workerId: ProcessId): void {
    const worker = this.#node.peer(workerId);
    if (worker === undefined) return;
    const { definition, args, deps, body } = actor.spec;
    const { interface: face, name, resources } = actor.options;
    // Refs in the constructor's arguments are held for each incarnation; the creator keeps its own hold while the actor lives.
    for (const payload of [args, ...deps]) {
      for (const [id, owner] of payload.refs) this.#node.hold({ id, owner }, worker.holderId);
      if (payload.stored !== undefined) this.#node.hold(payload.stored, worker.holderId);
    }
    const header: ActorStartHeader = {
      actorId: actor.id,
      incarnation: actor.incarnation,
      definition,
      name: face.className,
      actorName: name,
      resources,
      groups: face.groups,
      args,
      deps,
    };
    worker.connection.send(MESSAGE.ACTOR_START, header, { parts: [body] });
  }

  #sendState(actor: ActorRecord, watcher: ProcessId): void {
    const worker = actor.worker === undefined ? undefined : this.#node.peer(actor.worker);
    const header: ActorStateHeader & { error: PayloadHeader | undefined } = {
      actorId: actor.id,
      phase: actor.phase,
      incarnation: actor.incarnation,
      processId: worker?.id,
      address: worker?.address,
      pid: worker?.pid,
      reason: actor.reason,
      exit: actor.exit,
      hasError: actor.error !== undefined,
      error: actor.error?.header,
    };
    this.#node.peer(watcher)?.connection.send(MESSAGE.ACTOR_STATE, header, { parts: actor.error === undefined ? [] : [actor.error.body] });
  }
}

function describeActor(actor: ActorRecord): ActorLookupReply {
  return { actorId: actor.id, interface: actor.options.interface };
}
