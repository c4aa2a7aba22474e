/**
 * The head: actors and their names, and the definitions of functions and classes.
 *
 * The shell around the actor table: messages become its events, its effects become messages and requests to the node. Decides nothing about
 * where an actor runs, which is the node's matter, nor when a reference is free, which is the ledger's.
 */
import { type ActorId, actorObjectId, type ObjectId, type ProcessId } from "../base/ids.ts";
import { copyBytes } from "../base/bytes.ts";
import type { HeadPeer, HeadService, NodeServices } from "../rpc/head-service.ts";
import type { Frame } from "../wire/frame.ts";
import {
  type AcceleratorIds,
  type ActorCreateHeader,
  type ActorInfoHeader,
  type ActorLookupReply,
  type ActorRefusal,
  type ActorStartHeader,
  type ActorStateHeader,
  type DefinitionHeader,
  MESSAGE,
  type PayloadHeader,
  type WaitsHeader,
  type WorkerExitedHeader,
} from "../wire/messages.ts";
import { type ActorEffect, type ActorRecord, type ActorSpec, ActorTable } from "./actor-table.ts";
import { PlacementGroups } from "./placement-groups.ts";
import { DefinitionTable } from "./definition-table.ts";
import { describeCycle, WaitGraph } from "./wait-graph.ts";

export class Head implements HeadService {
  readonly #node: NodeServices;
  readonly #actors = new ActorTable();
  readonly #definitions = new DefinitionTable();
  readonly #waits = new WaitGraph();
  #hasWarnedOfDetached = false;
  readonly #groups: PlacementGroups;

  constructor(node: NodeServices) {
    this.#node = node;
    this.#groups = new PlacementGroups({ node, endActors: (group, reason) => this.#endActorsOf(group, reason) });
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
      case MESSAGE.WAITS:
        for (const cycle of this.#waits.told(peer.id, header as WaitsHeader)) this.#node.warn(describeCycle(cycle));
        return;
      case MESSAGE.ACTOR_LIST:
        peer.connection.reply(frame.callId, this.#list(header as { includeDead: boolean; namespace: string | undefined }));
        return;
      case MESSAGE.ACTOR_STARTED: {
        const { actorId, incarnation } = header as { actorId: ActorId; incarnation: number };
        this.#apply(this.#actors.handle({ kind: "started", id: actorId, incarnation, nowMs: this.#node.nowMs() }));
        return;
      }
      case MESSAGE.ACTOR_START_FAILED: {
        const { actorId, incarnation, error } = header as { actorId: ActorId; incarnation: number; error: PayloadHeader };
        this.#apply(
          this.#actors.handle({ kind: "startFailed", id: actorId, incarnation, error: { header: error, body: copyBytes(frame.body) } }),
        );
        return;
      }
      default:
        this.#groups.receive(peer, frame, header);
    }
  }

  placed(actor: ActorId, worker: ProcessId, accelerators: AcceleratorIds | undefined): void {
    this.#apply(this.#actors.handle({ kind: "placed", id: actor, worker }), accelerators);
  }

  refused(actor: ActorId, refusal: ActorRefusal): void {
    this.#apply(this.#actors.handle({ kind: "refused", id: actor, refusal }));
  }

  groupReserved(group: string): void {
    this.#groups.reserved(group);
  }

  #endActorsOf(group: string, reason: string): void {
    const refusal: ActorRefusal = {
      code: "groupRemoved",
      reason: `its placement group ${group} was removed: ${reason}`,
      hint: "Create the actor again in another group, or let it end before remove().",
    };
    for (const { id } of this.#actors.inGroup(group)) this.refused(id, refusal);
  }

  workerExited(worker: ProcessId, exit: WorkerExitedHeader, { intended }: { intended: boolean }): void {
    this.#apply(this.#actors.handle({ kind: "workerExited", worker, exit, intended, nowMs: this.#node.nowMs() }));
  }

  workerLeaves(worker: ProcessId, reason: string | undefined): void {
    this.#apply(this.#actors.handle({ kind: "leaving", worker, reason }));
  }

  processGone(process: ProcessId): void {
    this.#waits.processGone(process);
    this.#apply(this.#actors.handle({ kind: "processGone", process }));
    this.#groups.processGone(process);
  }

  unheld(actor: ActorId): void {
    this.#apply(this.#actors.handle({ kind: "unheld", id: actor }));
  }

  shapeOf(actor: ActorId): string | undefined {
    return this.#actors.get(actor)?.options.shape;
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
    // Each incarnation needs them, whatever becomes of the process that made them.
    for (const ref of refsOf(spec)) this.#node.hold(ref, this.#node.daemonId);
    const effects = this.#actors.handle({ kind: "create", id: actorId, creator: peer.id, options, spec });
    peer.connection.reply(frame.callId, { actorId, interface: options.interface });
    this.#apply(effects);
    if (options.isDetached) this.#warnOfDetached();
  }

  /** The node was started by a driver and ends with it: whoever expects the actor to live on should know, once. */
  #warnOfDetached(): void {
    if (this.#hasWarnedOfDetached) return;
    this.#hasWarnedOfDetached = true;
    this.#node.warn(
      "A detached actor outlives the task or actor that creates it, but this node was started by init() and ends with its last driver, and the actor with it.",
    );
  }

  #list(query: { includeDead: boolean; namespace: string | undefined }): ActorInfoHeader[] {
    const found: ActorInfoHeader[] = [];
    for (const actor of this.#actors.all()) {
      const { name, namespace, isDetached, interface: face } = actor.options;
      if ((actor.phase === "dead" && !query.includeDead) || (query.namespace !== undefined && query.namespace !== namespace)) continue;
      const worker = actor.worker === undefined ? undefined : this.#node.peer(actor.worker);
      found.push({
        actorId: actor.id,
        className: face.className,
        name,
        namespace,
        phase: actor.phase,
        isDetached,
        incarnation: actor.incarnation,
        pid: worker?.pid ?? actor.exit?.pid,
        nodeId: worker === undefined ? undefined : this.#node.nodeId,
        reason: actor.reason,
      });
    }
    return found;
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

  #apply(effects: readonly ActorEffect[], accelerators?: AcceleratorIds): void {
    for (const effect of effects) {
      const { actor } = effect;
      switch (effect.kind) {
        case "place":
          if (effect.delayMs === 0) this.#node.placeActor(actor.id, actor.options);
          else this.#placeLater(actor, effect.delayMs);
          break;
        case "start":
          this.#start(actor, effect.worker, accelerators);
          break;
        case "state":
          for (const watcher of effect.watchers) this.#sendState(actor, watcher);
          if (actor.phase === "dead") this.#groups.ownerGone(actor.id);
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
        case "ended":
          for (const ref of refsOf(effect.spec)) this.#node.release(ref, this.#node.daemonId);
          break;
        case "hold":
          this.#node.hold(this.#refOf(actor), this.#node.daemonId);
          break;
        case "release":
          this.#node.release(this.#refOf(actor), this.#node.daemonId);
          break;
      }
    }
  }

  #placeLater(actor: ActorRecord, delayMs: number): void {
    const { incarnation } = actor;
    const timer = setTimeout(() => {
      if (actor.phase === "restarting" && actor.incarnation === incarnation) this.#node.placeActor(actor.id, actor.options);
    }, delayMs);
    timer.unref();
  }

  #refOf(actor: ActorRecord): { id: ObjectId; owner: ProcessId } {
    return { id: actorObjectId(actor.id), owner: this.#node.daemonId };
  }

  #start(actor: ActorRecord, workerId: ProcessId, accelerators: AcceleratorIds | undefined): void {
    const worker = this.#node.peer(workerId);
    if (worker === undefined || actor.spec === undefined) return;
    const { definition, args, deps, body } = actor.spec;
    const { interface: face, name, resources, shape } = actor.options;
    for (const ref of refsOf(actor.spec)) this.#node.hold(ref, worker.holderId);
    const header: ActorStartHeader = {
      actorId: actor.id,
      incarnation: actor.incarnation,
      definition,
      name: face.className,
      actorName: name,
      resources,
      groups: face.groups,
      shape,
      accelerators,
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
      refusal: actor.refusal,
      hasError: actor.error !== undefined,
      error: actor.error?.header,
    };
    this.#node.peer(watcher)?.connection.send(MESSAGE.ACTOR_STATE, header, { parts: actor.error === undefined ? [] : [actor.error.body] });
  }
}

function describeActor(actor: ActorRecord): ActorLookupReply {
  return { actorId: actor.id, interface: actor.options.interface };
}

/** The references inside the constructor's arguments, and the stored bytes of large ones. */
function refsOf(spec: ActorSpec): { id: ObjectId; owner: ProcessId }[] {
  const refs: { id: ObjectId; owner: ProcessId }[] = [];
  for (const payload of [spec.args, ...spec.deps]) {
    for (const [id, owner] of payload.refs) refs.push({ id, owner });
    if (payload.stored !== undefined) refs.push(payload.stored);
  }
  return refs;
}
