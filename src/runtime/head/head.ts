/**
 * The head: actors and their names, placement groups, and the definitions of functions and classes, of all nodes.
 *
 * The shell around the tables: messages become their events, and their effects become messages and requests to the nodes. On one machine
 * the daemon hosts the head and there is one node. In a cluster the head is a separate process and acts through each node's link
 * (`remote-node.ts`). `placement.ts` picks the node of an actor; the ledgers decide when a reference is free.
 */
import {
  type ActorId,
  actorObjectId,
  type NodeId,
  type NodeTag,
  nodeTagOf,
  type ObjectId,
  type ProcessId,
  programNamespace,
  programOfNamespace,
} from "../base/ids.ts";
import { copyBytes } from "../base/collections/bytes.ts";
import type { Extension } from "../extension/extension.ts";
import { actorRow } from "../observe/cluster-rows.ts";
import type { HeadHandlers, HeadPeer, HeadService, NodeServices } from "../rpc/head-service.ts";
import type { Message } from "../rpc/peer-connection.ts";
import type {
  DigestBundleHeader,
  HeadEvents,
  LeaseAskHeader,
  NodeReportHeader,
  WorkerFactsHeader,
} from "../wire/cluster/cluster-messages.ts";
import {
  type AcceleratorIds,
  type ActorCreateHeader,
  type ActorInfoHeader,
  type ActorLeavingHeader,
  type ActorLookupReply,
  type ActorRefusal,
  type ActorStartHeader,
  type ActorStateHeader,
  MESSAGE,
  type WorkerExitedHeader,
} from "../wire/messages.ts";
import { type ActorEffect, type ActorRecord, type ActorSpec, type ActorName, ActorTable } from "./actors/actor-table.ts";
import { ClusterPlacement } from "./placement/cluster-placement.ts";
import { OnlyNodePlacement } from "./placement/only-node-placement.ts";
import type { Placement, PlacementEvents } from "./placement/placement.ts";
import type { WaitingDemand } from "./placement/placement-waiters.ts";
import { PlacementGroups } from "./placement/placement-groups.ts";
import { PlacementGroupTable } from "./placement/placement-group-table.ts";
import type { RecoveryStep } from "./tables/recovery.ts";
import { DefinitionTable } from "./definition-table.ts";
import { EnvironmentDescriptions } from "./environment-descriptions.ts";
import { ExtensionRecords } from "./extension-records.ts";
import { HeadExtensions } from "./head-extensions.ts";
import type { HeadHistory } from "./head-history.ts";
import { keyValueHandlers, KeyValues } from "./key-values.ts";
import { onlyNodeQuestions } from "./only-node-questions.ts";
import { describeCycle, WaitGraph } from "./wait-graph.ts";
import { WireError } from "../wire/wire-error.ts";
import { handle } from "../wire/tables/message-table.ts";
import type { MessagesToCluster, MessagesToHead } from "../wire/tables/messages-to-head.ts";

interface Tables {
  readonly actors: ActorTable;
  readonly groups: PlacementGroupTable;
  readonly definitions: DefinitionTable;
  readonly environments: EnvironmentDescriptions;
  readonly values: KeyValues;
  readonly extensionRecords: ExtensionRecords;
}

interface HeadOptions {
  nowMs: () => number;
  isOfDriver: boolean;
  /** Tables of a cluster record their changes (`recorded-tables.ts`). Default: plain ones, for a head that ends with its node. */
  tables?: Tables;
  /** Tells all nodes; by default there is only the one where the process was. */
  tellProcessGone?: (process: ProcessId) => void;
  extensions?: readonly Extension[];
  /** Handlers of questions about all nodes. Default: none, as another part of the head answers them (`nodes/head-server.ts`). */
  questions?: Partial<HeadHandlers<keyof MessagesToCluster>>;
  /** Takes the rows of actors and groups that have changed. Default: none is kept. */
  history?: HeadHistory | undefined;
  /** Runs an event that no message caused, such as a timer of an extension. Default: runs it without recording anything. */
  run?: (body: () => void) => void;
}

/** Bounds the names that an error suggests: a cluster has tens of thousands. */
const NAMES_SHOWN = 20;
/** Actors of our own libraries are not the user's doing, so the libraries report their ends. */
const LIBRARY_NAMESPACES = "shoal.";

type ActorMessages =
  | typeof MESSAGE.ACTOR_CREATE
  | typeof MESSAGE.ACTOR_LOOKUP
  | typeof MESSAGE.ACTOR_WATCH
  | typeof MESSAGE.ACTOR_KILL
  | typeof MESSAGE.ACTOR_LIST
  | typeof MESSAGE.ACTOR_STARTED
  | typeof MESSAGE.ACTOR_START_FAILED
  | typeof MESSAGE.WAITS;
type DescriptionMessages =
  | typeof MESSAGE.DEFINE
  | typeof MESSAGE.FETCH_DEFINITION
  | typeof MESSAGE.ENVIRONMENT
  | typeof MESSAGE.ENVIRONMENT_FETCH;
/** All messages except those for a cluster's head alone (`nodes/head-server.ts`). */
type MessagesToTables = Exclude<keyof MessagesToHead, keyof MessagesToCluster>;

export class Head implements HeadService {
  readonly #nodes = new Map<NodeTag, NodeServices>();
  readonly #placement: Placement;
  readonly #tellProcessGone: (process: ProcessId) => void;
  readonly #nowMs: () => number;
  /** Whether it ends with the driver that started its only node. */
  readonly #isOfDriver: boolean;
  readonly #actors: ActorTable;
  readonly #definitions: DefinitionTable;
  readonly #environments: EnvironmentDescriptions;
  readonly #values: KeyValues;
  /** Programs that have ended while actors in their own namespaces live. */
  readonly #outlivedPrograms = new Set<ProcessId>();
  readonly #waits = new WaitGraph();
  #hasWarnedOfDetached = false;
  readonly #groups: PlacementGroups;
  readonly #extensions: HeadExtensions;
  readonly #history: HeadHistory | undefined;
  readonly #handlers: HeadHandlers<MessagesToTables> & HeadOptions["questions"];

  constructor(options: HeadOptions) {
    const { actors, groups, definitions, environments, values, extensionRecords } = options.tables ?? plainTables();
    this.#actors = actors;
    this.#definitions = definitions;
    this.#environments = environments;
    this.#values = values;
    this.#nowMs = options.nowMs;
    this.#tellProcessGone = options.tellProcessGone ?? (() => {});
    this.#isOfDriver = options.isOfDriver;
    this.#history = options.history;
    const nodes = (): Iterable<NodeServices> => this.#nodes.values();
    const events: PlacementEvents = {
      node: (id) => this.#nodes.get(nodeTagOf(id)),
      group: (id) => this.#groups.get(id),
      nowMs: options.nowMs,
      warn: (text) => this.#warn(text),
      actorRefused: (actor, refusal) => this.refused(actor, refusal),
      groupReserved: (group, nodeIds) => this.#groups.reserved(group, nodeIds),
      groupLost: (group, indices) => this.#groups.lost(group, indices),
      groupInfeasible: (group) => this.#groups.infeasible(group),
    };
    this.#placement = options.isOfDriver ? new OnlyNodePlacement(events) : new ClusterPlacement(events);
    this.#groups = new PlacementGroups({
      nodes,
      placement: () => this.#placement,
      warn: (text) => this.#warn(text),
      endActors: (group, reason) => this.#endActorsOf(group, reason),
      table: groups,
      extensionReserved: (id, node) => this.#extensions.reserved(id, node),
      history: options.history,
    });
    this.#groups.restore();
    for (const actor of actors.all()) this.#observe(actor);
    this.#extensions = new HeadExtensions({
      extensions: options.extensions ?? [],
      records: extensionRecords,
      nowMs: options.nowMs,
      warn: (text) => this.#warn(text),
      node: (id) => this.#nodes.get(nodeTagOf(id)),
      groups: this.#groups,
      run: options.run ?? ((body) => body()),
    });
    this.#handlers = {
      ...options.questions,
      ...this.#actorHandlers(),
      ...this.#descriptionHandlers(),
      ...keyValueHandlers(values),
      ...this.#groups.handlers,
      [MESSAGE.EXTENSION]: (asked, peer, message) => this.#extensions.receive(asked, peer, message),
    };
  }

  /** Makes the head of one machine, hosted by the driver's daemon. */
  static hostedBy(node: NodeServices, { nowMs, extensions }: Pick<HeadOptions, "nowMs" | "extensions">): Head {
    const head = new Head({ nowMs, isOfDriver: true, questions: onlyNodeQuestions(node), ...(extensions && { extensions }) });
    head.addNode(node);
    return head;
  }

  /** @param node - stands in for a node of an earlier head that has not registered with this one */
  expectNode(node: NodeServices): void {
    this.#nodes.set(nodeTagOf(node.nodeId), node);
    this.#placement.nodeExpected(node);
  }

  /** Nodes of an earlier head that are not in the tables may register within this time. */
  expectUnrecordedNodes(withinMs: number): void {
    this.#placement.unrecordedNodesExpected(this.#nowMs() + withinMs);
  }

  addNode(node: NodeServices): void {
    this.#nodes.set(nodeTagOf(node.nodeId), node);
    this.#placement.nodeJoined(node);
    this.#extensions.nodeJoined(node.nodeId);
  }

  /**
   * Handles the list of bundles that a node already held under an earlier head. Some may since have been removed, or placed on another
   * node.
   */
  nodeHolds(nodeId: NodeId, bundles: readonly DigestBundleHeader[]): void {
    this.#placement.nodeHolds(nodeId, bundles);
  }

  /** Handles a node's report of free resources. */
  nodeReported(nodeId: NodeId, report: NodeReportHeader): void {
    this.#placement.nodeReported(nodeId, report);
  }

  /** Whether unknown nodes of an earlier head may still register. */
  expectsUnrecordedNodes(): boolean {
    return this.#placement.expectsUnrecordedNodes();
  }

  /** Returns demands without room, by shape. */
  waiting(): WaitingDemand[] {
    return this.#placement.waiting();
  }

  /** Marks a silent node, which may come back: it gets nothing new meanwhile. */
  suspect(nodeId: NodeId, isSuspect: boolean): void {
    this.#placement.nodeState(nodeId, isSuspect ? "suspect" : "alive");
  }

  /** Whether a node's last reports show no work. */
  isIdle(nodeId: NodeId): boolean {
    const view = this.#nodes.get(nodeTagOf(nodeId))?.view();
    const isFree = view !== undefined && Array.from(view.total).every(([name, amount]) => view.free.get(name) === amount);
    return isFree && this.#actors.workersOf(nodeTagOf(nodeId)).length === 0;
  }

  /** Gives a node nothing new, and restarts its actors with restarts left on other nodes. */
  drain(nodeId: NodeId): void {
    this.#placement.nodeState(nodeId, "draining");
    for (const worker of this.#actors.workersOf(nodeTagOf(nodeId))) {
      const actor = this.#actors.byWorker(worker.id);
      if (actor === undefined || actor.restartsLeft === 0) continue;
      this.#apply(this.#actors.handle({ kind: "kill", id: actor.id, restart: true, reason: "its node is being drained" }));
    }
  }

  leasesWanted(nodeId: NodeId, ask: LeaseAskHeader): void {
    this.#placement.leasesWanted(nodeId, ask);
  }

  actorFull(actor: ActorId, nodeId: NodeId): void {
    this.#placement.actorFull(actor, nodeId);
  }

  groupPrepared(group: string, prepared: HeadEvents["groupPrepared"][1]): void {
    this.#placement.groupPrepared(group, prepared);
  }

  /** Returns the creator of an actor, whose node counts the handles. */
  creatorOf(actor: ActorId): ProcessId | undefined {
    return this.#actors.get(actor)?.creator;
  }

  /** Handles the death of a node with all its processes: its actors restart on other nodes or die. */
  nodeGone(nodeId: NodeId, reason: string): void {
    const tag = nodeTagOf(nodeId);
    this.#nodes.delete(tag);
    this.#waits.nodeGone(tag);
    for (const actor of this.#placement.nodeGone(nodeId)) this.#placement.place(actor);
    for (const worker of this.#actors.workersOf(tag)) {
      this.workerExited(worker.id, exitOf(worker, `its node died: ${reason}`), { intended: false });
    }
    for (const process of new Set([...this.#actors.creatorsOf(tag), ...this.#groups.ownersOf(tag), ...this.#values.programs(tag)]))
      this.processGone(process);
    // The dead node's counts of handles are gone.
    for (const id of this.#actors.aliasesOf(tag)) this.unheld(id);
    this.#definitions.nodeGone(tag, (id) => this.#startsAgain(id));
    this.#extensions.nodeGone(nodeId, reason);
  }

  /** Whether an actor is or may be started from a definition. */
  #startsAgain(definition: string): boolean {
    for (const { phase, spec } of this.#actors.all()) if (phase !== "dead" && spec?.definition === definition) return true;
    return false;
  }

  /** Completes work that an earlier head may have left undone (`recovery.ts`). */
  recover(step: RecoveryStep): void {
    switch (step.kind) {
      case "placed":
        this.placed(step.actor, step.worker, step.accelerators);
        return;
      case "adopt": {
        const node = this.#nodes.get(nodeTagOf(step.nodeId));
        if (node !== undefined) this.#placement.adopt(step.actor, node);
        return;
      }
      case "startAgain":
        this.#start(step.actor, step.worker, step.accelerators);
        return;
      case "endAgain":
        this.#nodeOf(step.worker)?.endActor(step.worker, { afterPending: true, reason: step.reason });
        return;
      case "workerExited":
        this.workerExited(step.worker.id, exitOf(step.worker, step.reason), { intended: false });
        return;
      case "endWorker":
        this.#nodeOf(step.worker)?.endActor(step.worker, { afterPending: false, reason: step.reason });
        this.#nodeOf(step.worker)?.actorGone(step.actor);
        return;
      case "processGone":
        this.processGone(step.process);
        return;
      case "place":
        this.#placement.place(step.actor);
        return;
      case "group":
        this.#placement.reserveGroup(step.group, step.notWithinMs);
        return;
    }
  }

  /** A message of a process, whose shape has been checked. */
  receive(peer: HeadPeer, message: Message, header: unknown): void {
    handle(this.#handlers, message.type, header, peer, message);
  }

  #actorHandlers(): HeadHandlers<ActorMessages> {
    return {
      [MESSAGE.ACTOR_CREATE]: (header, peer, message) => this.#create(peer, message, header),
      [MESSAGE.ACTOR_LOOKUP]: (name, peer, { callId }) => this.#lookup(peer, callId, name),
      [MESSAGE.ACTOR_WATCH]: (id, peer) => this.#apply(this.#actors.handle({ kind: "watch", id, process: peer.id })),
      [MESSAGE.ACTOR_KILL]: ({ actorId, restart }) => this.#apply(this.#actors.handle({ kind: "kill", id: actorId, restart })),
      [MESSAGE.ACTOR_LIST]: (query, peer, { callId }) => peer.connection.reply(callId, this.#list(query)),
      [MESSAGE.ACTOR_STARTED]: ({ actorId, incarnation }, peer) => {
        if (this.#actors.get(actorId)?.worker?.id !== peer.id) return;
        this.#apply(this.#actors.handle({ kind: "started", id: actorId, incarnation, nowMs: this.#nowMs() }));
      },
      [MESSAGE.ACTOR_START_FAILED]: ({ actorId, incarnation, error: header }, peer, { body }) => {
        if (this.#actors.get(actorId)?.worker?.id !== peer.id) return;
        const error = { header, body: copyBytes(body) };
        this.#apply(this.#actors.handle({ kind: "startFailed", id: actorId, incarnation, error }));
      },
      [MESSAGE.WAITS]: (waits, peer) => {
        for (const cycle of this.#waits.told(peer.id, waits)) this.#warn(describeCycle(cycle));
      },
    };
  }

  #descriptionHandlers(): HeadHandlers<DescriptionMessages> {
    return {
      [MESSAGE.DEFINE]: (header, peer, { body }) => this.#definitions.define({ ...header, owner: peer.id }, body),
      [MESSAGE.FETCH_DEFINITION]: (id, peer, { callId }) =>
        this.#definitions.fetch(id, (found) => {
          if (found instanceof WireError) peer.connection.replyError(callId, found);
          else peer.connection.reply(callId, found.header, [found.body]);
        }),
      [MESSAGE.ENVIRONMENT]: (header) => this.#environments.described(header),
      [MESSAGE.ENVIRONMENT_FETCH]: (key, peer, { callId }) =>
        this.#environments.fetch(key, (description) => peer.connection.reply(callId, description)),
    };
  }

  placed(actor: ActorId, worker: WorkerFactsHeader, accelerators: AcceleratorIds | undefined): void {
    this.#apply(this.#actors.handle({ kind: "placed", id: actor, worker }), accelerators);
  }

  refused(actor: ActorId, refusal: ActorRefusal): void {
    this.#apply(this.#actors.handle({ kind: "refused", id: actor, refusal }));
  }

  groupReserved(group: string, nodeId: NodeId): void {
    this.#placement.groupReserved(group, nodeId);
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
    this.#apply(this.#actors.handle({ kind: "workerExited", worker, exit, intended, nowMs: this.#nowMs() }));
  }

  workerLeaves(worker: ProcessId, leaving: ActorLeavingHeader | undefined): void {
    this.#apply(this.#actors.handle({ kind: "leaving", worker, leaving }));
  }

  processGone(process: ProcessId): void {
    this.#tellProcessGone(process);
    this.#waits.processGone(process);
    this.#placement.processGone(process);
    this.#apply(this.#actors.handle({ kind: "processGone", process }));
    this.#groups.processGone(process);
    this.#dropValuesOf(process);
    this.#extensions.processGone(process);
  }

  /** Detached actors in the namespace of a program that has ended may still use its values: they stay as long as one of these lives. */
  #dropValuesOf(driver: ProcessId): void {
    if (this.#values.isEmpty(programNamespace(driver))) return;
    if (this.#livesIn(programNamespace(driver))) {
      this.#outlivedPrograms.add(driver);
      return;
    }
    this.#outlivedPrograms.delete(driver);
    this.#values.programGone(driver);
  }

  #livesIn(namespace: string): boolean {
    for (const { phase, options } of this.#actors.all()) if (phase !== "dead" && options.namespace === namespace) return true;
    return false;
  }

  /** Ends the head when it loses its leadership or its process ends. */
  close(): void {
    this.#extensions.close();
  }

  definitionUnheld(reference: ObjectId, node: NodeId): void {
    this.#definitions.unheld(reference, nodeTagOf(node));
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

  #create(peer: HeadPeer, frame: Message, header: ActorCreateHeader): void {
    const { actorId, definition, options, args, deps } = header;
    const { name, namespace } = options;
    const known = this.#actors.get(actorId);
    if (known !== undefined) {
      // The question is repeated to the next head. That head knows the actor from the tables, which lack the watchers, and the answer may
      // have been lost.
      peer.connection.reply(frame.callId, this.#describe(known));
      this.#apply(this.#actors.handle({ kind: "watch", id: actorId, process: peer.id }));
      return;
    }
    const existing = name === undefined ? undefined : this.#actors.named(name, namespace);
    if (existing !== undefined && !options.getIfExists) {
      const taken = `an actor named ${JSON.stringify(name)} exists already in namespace ${JSON.stringify(namespace)}`;
      peer.connection.replyError(frame.callId, new WireError("nameTaken", taken));
      return;
    }
    if (existing !== undefined) {
      this.#holdActor(existing, peer);
      peer.connection.reply(frame.callId, this.#describe(existing));
      this.#apply(this.#actors.handle({ kind: "found", id: actorId, existing: existing.id, creator: peer.id }));
      return;
    }
    const spec = { definition, args, deps, body: copyBytes(frame.body) };
    // Each incarnation needs them, even after their maker's death.
    const node = this.#nodeOf(peer.id);
    for (const ref of refsOf(spec)) node?.hold(ref, node.daemonId);
    const effects = this.#actors.handle({ kind: "create", id: actorId, creator: peer.id, options, spec });
    const created = this.#actors.get(actorId);
    if (created !== undefined) created.createdAtMs = Date.now();
    peer.connection.reply(frame.callId, { actorId, owner: node?.daemonId, interface: options.interface });
    this.#apply(effects);
    if (options.isDetached && this.#isOfDriver && !options.namespace.startsWith(LIBRARY_NAMESPACES)) this.#warnOfDetached();
  }

  /** Warns once that the node was started by a driver and ends with it, since a detached actor suggests other expectations. */
  #warnOfDetached(): void {
    if (this.#hasWarnedOfDetached) return;
    this.#hasWarnedOfDetached = true;
    this.#warn(
      "A detached actor outlives the task or actor that creates it, but this node was started by init() and ends with its last driver, and the actor with it.",
    );
  }

  #list(query: { includeDead: boolean; namespace: string | undefined; detail?: boolean | undefined }): ActorInfoHeader[] {
    const found: ActorInfoHeader[] = [];
    for (const actor of this.#actors.all()) {
      const { namespace } = actor.options;
      if ((actor.phase === "dead" && !query.includeDead) || (query.namespace !== undefined && query.namespace !== namespace)) continue;
      found.push(this.#infoOf(actor, query.detail === true));
    }
    return found;
  }

  #infoOf(actor: ActorRecord, withDetail: boolean): ActorInfoHeader {
    const { name, namespace, isDetached, interface: face } = actor.options;
    const { worker } = actor;
    return {
      actorId: actor.id,
      className: face.className,
      name,
      namespace,
      phase: actor.phase,
      isDetached,
      incarnation: actor.incarnation,
      pid: worker?.pid ?? actor.exit?.pid,
      nodeId: worker === undefined ? undefined : this.#nodeOf(worker.id)?.nodeId,
      reason: actor.reason,
      ...(withDetail && { detail: actorDetail(actor) }),
    };
  }

  #lookup(peer: HeadPeer, callId: number, query: ActorName): void {
    const found = this.#actors.named(query.name, query.namespace);
    if (found === undefined) {
      peer.connection.replyError(callId, new WireError("notFound", unknownName(query, this.#actors)));
      return;
    }
    this.#holdActor(found, peer);
    peer.connection.reply(callId, this.#describe(found));
  }

  #describe(actor: ActorRecord): ActorLookupReply {
    return { actorId: actor.id, owner: this.#refOf(actor).owner, interface: actor.options.interface };
  }

  #holdActor(actor: ActorRecord, peer: HeadPeer): void {
    this.#ownerOf(actor)?.hold(this.#refOf(actor), peer.holderId);
  }

  #nodeOf(process: ProcessId): NodeServices | undefined {
    return this.#nodes.get(nodeTagOf(process));
  }

  #peer(process: ProcessId): HeadPeer | undefined {
    return this.#nodeOf(process)?.peer(process);
  }

  /** The node of an actor's creator, whose daemon counts its handles. */
  #ownerOf(actor: ActorRecord): NodeServices | undefined {
    return this.#nodeOf(actor.creator);
  }

  #warn(text: string): void {
    for (const node of this.#nodes.values()) node.warn(text);
  }

  #apply(effects: readonly ActorEffect[], accelerators?: AcceleratorIds): void {
    for (const effect of effects) {
      const { actor } = effect;
      this.#observe(actor);
      switch (effect.kind) {
        case "place":
          if (effect.delayMs === 0) this.#placement.place(actor);
          else this.#placeLater(actor, effect.delayMs);
          break;
        case "start":
          this.#start(actor, effect.worker, accelerators);
          break;
        case "state":
          for (const watcher of effect.watchers) this.#sendState(actor, watcher);
          if (actor.phase === "dead") this.#actorDied(actor);
          break;
        case "redirect":
          for (const watcher of effect.watchers)
            this.#peer(watcher)?.connection.send(MESSAGE.ACTOR_REDIRECT, [effect.from, actor.id, this.#refOf(actor).owner]);
          break;
        case "end": {
          const { worker, afterPending, reason } = effect;
          this.#nodeOf(worker)?.endActor(worker, { afterPending, reason });
          break;
        }
        case "gone":
          this.#placement.gone(actor);
          break;
        case "ended":
          this.#releaseSpec(actor, effect.spec);
          break;
        case "hold":
          this.#ownerOf(actor)?.hold(this.#refOf(actor), this.#refOf(actor).owner);
          break;
        case "release":
          this.#ownerOf(actor)?.release(this.#refOf(actor), this.#refOf(actor).owner);
          break;
      }
    }
  }

  #observe(actor: ActorRecord): void {
    this.#history?.changed("actors", actor.id, () => actorRow(this.#infoOf(actor, true)));
  }

  #actorDied({ id, options: { namespace } }: ActorRecord): void {
    this.#groups.ownerGone(id);
    const driver = programOfNamespace(namespace);
    if (driver !== undefined && this.#outlivedPrograms.has(driver)) this.#dropValuesOf(driver);
  }

  #placeLater(actor: ActorRecord, delayMs: number): void {
    const { incarnation } = actor;
    const timer = setTimeout(() => {
      if (actor.phase === "restarting" && actor.incarnation === incarnation) this.#placement.place(actor);
    }, delayMs);
    timer.unref();
  }

  /** If the creator's node is gone, nobody counts the handles, and the creator represents its daemon. */
  #refOf(actor: ActorRecord): { id: ObjectId; owner: ProcessId } {
    return { id: actorObjectId(actor.id), owner: this.#ownerOf(actor)?.daemonId ?? actor.creator };
  }

  #releaseSpec(actor: ActorRecord, spec: ActorSpec): void {
    const node = this.#ownerOf(actor);
    for (const ref of refsOf(spec)) node?.release(ref, node.daemonId);
  }

  #start(actor: ActorRecord, worker: WorkerFactsHeader, accelerators: AcceleratorIds | undefined): void {
    const peer = this.#peer(worker.id);
    if (peer === undefined || actor.spec === undefined) return;
    // The creator's node counts in the order of messages. If it is gone, no order matters.
    const counting = this.#ownerOf(actor) ?? this.#nodeOf(worker.id);
    const { definition, args, deps, body } = actor.spec;
    const { interface: face, name, resources, shape } = actor.options;
    for (const ref of refsOf(actor.spec)) counting?.hold(ref, worker.holderId);
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
    peer.connection.send(MESSAGE.ACTOR_START, header, { parts: [body] });
  }

  #sendState(actor: ActorRecord, watcher: ProcessId): void {
    const { worker } = actor;
    const isNear = worker !== undefined && nodeTagOf(worker.id) === nodeTagOf(watcher);
    const header: ActorStateHeader = {
      actorId: actor.id,
      phase: actor.phase,
      incarnation: actor.incarnation,
      processId: worker?.id,
      address: isNear ? worker.address : worker?.remoteAddress,
      pid: worker?.pid,
      reason: actor.reason,
      ending: actor.ending,
      exit: actor.exit,
      refusal: actor.refusal,
      error: actor.error?.header,
    };
    this.#peer(watcher)?.connection.send(MESSAGE.ACTOR_STATE, header, { parts: actor.error === undefined ? [] : [actor.error.body] });
  }
}

/** Makes the exit of a process whose end nobody saw. */
function exitOf({ id: workerId, pid }: WorkerFactsHeader, reason: string): WorkerExitedHeader {
  return { workerId, pid, exitCode: undefined, signal: undefined, lastOutput: [], reason };
}

function plainTables(): Tables {
  return {
    actors: new ActorTable(),
    groups: new PlacementGroupTable(),
    definitions: new DefinitionTable(),
    environments: new EnvironmentDescriptions(),
    values: new KeyValues(),
    extensionRecords: new ExtensionRecords(),
  };
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

/**
 * Lists similar names: others in the namespace, or the same name in other namespaces, which a program with a generated namespace cannot
 * guess.
 */
function unknownName({ name, namespace }: ActorName, actors: ActorTable): string {
  const here = actors.namesIn(namespace, NAMES_SHOWN + 1);
  if (here.length > NAMES_SHOWN) here[NAMES_SHOWN] = "and others";
  const elsewhere = actors.namespacesOf(name).map((other) => JSON.stringify(other));
  const list = here.length === 0 ? "no named actor is alive there" : `alive there: ${here.join(", ")}`;
  const hint =
    elsewhere.length === 0
      ? ""
      : `; one of that name is in namespace ${elsewhere.join(", ")}: give it as the option namespace, here and where it is made`;
  return `no actor named ${JSON.stringify(name)} in namespace ${JSON.stringify(namespace)}; ${list}${hint}`;
}

function actorDetail({ createdAtMs = 0, worker, creator, exit, options }: ActorRecord): ActorInfoHeader["detail"] {
  const { maxRestarts, resources, group } = options;
  return { createdMs: createdAtMs, worker: worker?.id ?? exit?.workerId, creator, maxRestarts, resources, group, exit };
}
