/**
 * A model of a cluster around the real head, journal and recovery. Nodes start workers for actors, drivers make and kill them, a store
 * answers when the schedule says so, and heads die at any line.
 *
 * A head dies before its commit was applied, after it was but before the answer, or after some of the messages of an event were out and
 * others not. Unacknowledged messages of a node are sent again to the next head, after the node's registration, as links do it. Checked all
 * the time: never two started workers of one actor. Checked at the end, when all has settled: no acknowledged actor, name or group is lost,
 * every live actor has its one worker, no node runs an unknown actor. Some actors may be on one node only, which a head that has just begun
 * may not have met: none is refused while its node lives.
 */
import { type ActorId, type NodeId, nodeTagOf, type ProcessId } from "../src/runtime/base/ids.ts";
import { type NodeView, resourceVector } from "../src/runtime/base/resources.ts";
import type { Head } from "../src/runtime/head/head.ts";
import { HEAD_PREFIX, type HeadTables } from "../src/runtime/head/tables/head-records.ts";
import { KeptHead } from "../src/runtime/head/tables/kept-head.ts";
import { Journal } from "../src/runtime/head/tables/journal.ts";
import { claimLeadership, type Leadership } from "../src/runtime/head/leadership/leadership.ts";
import { RecordedTables } from "../src/runtime/head/tables/recorded-tables.ts";
import type { StoreTransaction, StoreWrite, TransactionResult } from "../src/runtime/control-plane/control-store.ts";
import { MemoryStore } from "../src/runtime/control-plane/memory-store.ts";
import { KeyTable } from "../src/runtime/control-plane/key-table.ts";
import type { HeadPeer, NodeServices } from "../src/runtime/rpc/head-service.ts";
import type { DigestActorHeader, NodeInfoHeader, WorkerFactsHeader } from "../src/runtime/wire/cluster/cluster-messages.ts";
import { type ActorCreateHeader, type ActorStartHeader, MESSAGE, type PayloadHeader } from "../src/runtime/wire/messages.ts";
import { leaseKey } from "../src/runtime/scheduling/lease-spec.ts";
import { SeededNumbers } from "./virtual-time.ts";

type RecoveryMutation =
  | "none"
  /** Messages go out before the change that they tell is kept. */
  | "effectsFirst"
  /** Nodes do not say what they run. */
  | "emptyDigests"
  /** A head does not expect the nodes of the one before it. */
  | "unexpectedNodes";

const EMPTY: PayloadHeader = { inBand: 0, buffers: [], graph: false, error: false, definitions: [], refs: [], stored: undefined };
const NOTHING = new Uint8Array(0);

/** A store that answers when it is told to. */
class SteppedStore extends MemoryStore {
  #open: { transaction: StoreTransaction; resolve: (result: TransactionResult) => void; isApplied: boolean } | undefined;
  isStepped = false;

  override async transaction(transaction: StoreTransaction): Promise<TransactionResult> {
    if (!this.isStepped) return super.transaction(transaction);
    const { promise, resolve } = Promise.withResolvers<TransactionResult>();
    this.#open = { transaction, resolve, isApplied: false };
    return promise;
  }

  get isWaiting(): boolean {
    return this.#open !== undefined;
  }

  /** Applies the next commit; without `answers` the head never hears of the result. */
  async step({ answers }: { answers: boolean }): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    const result = await super.transaction(open.transaction);
    if (answers) open.resolve(result);
  }

  drop(): void {
    this.#open = undefined;
  }
}

interface HeadParts {
  readonly store: SteppedStore;
  readonly tables: RecordedTables;
  readonly leadership: Leadership;
  readonly kept: HeadTables;
}

/** A single life of a head. */
class ModelHead {
  readonly kept: KeptHead;
  readonly store: SteppedStore;
  readonly #journal: Journal;
  isAlive = true;
  /** Messages that still come out before it dies. */
  outputsLeft = Infinity;

  constructor(world: HeadWorld, { store, tables, leadership, kept }: HeadParts) {
    this.store = store;
    this.#journal = new Journal({ commit: (writes) => leadership.commit(writes), onLost: () => this.die() });
    const eager = {
      after: (writes: readonly StoreWrite[], run: () => void) => {
        run();
        this.#journal.after(writes, () => {});
      },
    } as Journal;
    const journal = world.mutation === "effectsFirst" ? eager : this.#journal;
    const known = world.mutation === "unexpectedNodes" ? { ...kept, nodes: [] } : kept;
    this.kept = new KeptHead({ journal, tables, kept: known, nowMs: () => world.nowMs });
  }

  get head(): Head {
    return this.kept.head;
  }

  get tables(): RecordedTables {
    return this.kept.tables;
  }

  get isIdle(): boolean {
    return this.#journal.waiting === 0 && !this.store.isWaiting;
  }

  die(): void {
    this.isAlive = false;
    this.#journal.end();
    this.store.drop();
  }

  /** Something that this head says to a node, which it does only while it lives. */
  out(action: () => void): void {
    if (this.isAlive && this.outputsLeft <= 0) this.die();
    if (!this.isAlive) return;
    this.outputsLeft -= 1;
    action();
  }

  add(node: ModelNode): void {
    const digest = node.digest();
    this.kept.addNode(node.servicesFor(this), node.world.mutation === "emptyDigests" ? { ...digest, actors: [] } : digest, {
      incarnation: "1",
      info: node.info,
    });
    this.kept.run(
      () => {},
      () => (node.isKept = true),
    );
  }

  peer(node: NodeId, id: ProcessId): HeadPeer {
    return this.kept.peer(node, id) as HeadPeer;
  }
}

type ToHead = (head: ModelHead) => void;

class ModelNode {
  readonly nodeId: NodeId;
  readonly daemonId: ProcessId;
  readonly driver: ProcessId;
  readonly world: HeadWorld;
  readonly workers = new Map<
    ProcessId,
    { actorId: ActorId; worker: WorkerFactsHeader; incarnation: number | undefined; isReported: boolean }
  >();
  readonly #wanted = new Set<ActorId>();
  /** Messages that the head has not acknowledged, and whether each was sent to the present head. */
  readonly outbox: { say: ToHead; isSent: boolean }[] = [];
  /** The head has committed the node's record. */
  isKept = false;
  #head: ModelHead | undefined;
  #workers = 0;

  constructor(world: HeadWorld, index: number) {
    this.world = world;
    this.nodeId = `${index}`.padEnd(32, "a") as NodeId;
    const tag = nodeTagOf(this.nodeId);
    this.daemonId = `${tag}dddddddddddddddd` as ProcessId;
    this.driver = `${tag}${"e".repeat(16)}` as ProcessId;
  }

  get info(): NodeInfoHeader {
    const { nodeId, daemonId } = this;
    return { nodeId, daemonId, alive: true, hostname: "", address: "", resources: { CPU: 100 }, labels: {}, objectStoreMemoryBytes: 0 };
  }

  get isRegistered(): boolean {
    return this.#head?.isAlive === true;
  }

  get isSettled(): boolean {
    return this.#wanted.size === 0 && this.outbox.length === 0;
  }

  say(say: ToHead): void {
    this.outbox.push({ say, isSent: false });
  }

  register(head: ModelHead): void {
    this.#head = head;
    this.#wanted.clear();
    for (const message of this.outbox) message.isSent = false;
    head.add(this);
  }

  /** Delivers in order; acknowledges a message when its change is kept. */
  deliver(): boolean {
    const next = this.outbox.find(({ isSent }) => !isSent);
    const head = this.#head;
    if (next === undefined || head === undefined || !head.isAlive) return false;
    next.isSent = true;
    head.kept.run(
      () => next.say(head),
      () =>
        head.out(() => {
          const index = this.outbox.indexOf(next);
          if (index >= 0) this.outbox.splice(index, 1);
        }),
    );
    return true;
  }

  /** A worker for one of the actors that wait here. */
  grant(): boolean {
    const [actorId] = this.#wanted;
    if (actorId === undefined) return false;
    this.#wanted.delete(actorId);
    this.#workers += 1;
    const id = `${nodeTagOf(this.nodeId)}${this.#workers.toString(16).padStart(16, "0")}` as ProcessId;
    const worker = { id, holderId: id, pid: this.#workers, address: "", remoteAddress: "" };
    this.workers.set(id, { actorId, worker, incarnation: undefined, isReported: false });
    this.say(({ head }) => head.placed(actorId, worker, undefined));
    return true;
  }

  /** A constructor has ended. */
  finish(): boolean {
    const entry = Array.from(this.workers.values()).find(({ incarnation, isReported }) => incarnation !== undefined && !isReported);
    if (entry === undefined) return false;
    entry.isReported = true;
    const { actorId, incarnation, worker } = entry;
    const header = { actorId, incarnation };
    this.say((model) =>
      model.head.receive(model.peer(this.nodeId, worker.id), { type: MESSAGE.ACTOR_STARTED, callId: 0, flags: 0, body: NOTHING }, header),
    );
    return true;
  }

  crashWorker(id: ProcessId): void {
    const entry = this.workers.get(id);
    if (entry === undefined) return;
    this.workers.delete(id);
    const exit = { workerId: id, pid: entry.worker.pid, exitCode: 1, signal: undefined, lastOutput: [], reason: undefined };
    this.say(({ head }) => head.workerExited(id, exit, { intended: false }));
  }

  ask(type: number, header: unknown, callId = 0): void {
    this.say((model) => model.head.receive(model.peer(this.nodeId, this.driver), { type, callId, flags: 0, body: NOTHING }, header));
  }

  digest(): { nodeId: NodeId; processes: ProcessId[]; actors: DigestActorHeader[]; bundles: [] } {
    const actors = Array.from(this.workers.values(), ({ actorId, worker }) => ({ actorId, worker, accelerators: undefined }));
    return { nodeId: this.nodeId, processes: [this.driver, ...this.workers.keys()], actors, bundles: [] };
  }

  servicesFor(head: ModelHead): NodeServices {
    const out = (action: () => void): void => head.out(action);
    const view: NodeView = { id: this.nodeId, labels: {}, total: new Map([["CPU", 1e6]]), free: new Map([["CPU", 1e6]]) };
    return {
      nodeId: this.nodeId,
      daemonId: this.daemonId,
      info: this.info,
      peer: (id) => this.#peer(head, id),
      hold: () => {},
      release: () => {},
      warn: () => {},
      placeActor: (actor) => out(() => this.#wanted.add(actor)),
      actorGone: (actor) => out(() => this.#gone(actor)),
      view: () => view,
      reserveGroup: (group) => out(() => this.say((model) => model.head.groupReserved(group, this.nodeId))),
      prepareGroup: (group, { attempt }) =>
        out(() => this.say((model) => model.head.groupPrepared(group, { attempt, isHeld: true, nodeId: this.nodeId }))),
      commitGroup: () => {},
      abortGroup: () => {},
      leasesPlaced: () => {},
      releaseGroup: () => {},
      tellAll: () => {},
      endActor: (worker) => out(() => this.crashWorker(worker)),
      drain: () => {},
      processGone: () => {},
      nodesChanged: () => {},
      tellExtension: () => {},
    } satisfies { [Name in keyof NodeServices]: NodeServices[Name] };
  }

  /** As the lease manager does it: a place that is only wanted is given up; a worker ends by `endActor`. */
  #gone(actor: ActorId): void {
    this.#wanted.delete(actor);
  }

  #peer(head: ModelHead, id: ProcessId): HeadPeer {
    const send = (type: number, header: unknown): void => head.out(() => this.#said(id, type, header));
    const reply = (callId: number, header: unknown): void => head.out(() => this.world.answered(callId, header));
    return {
      id,
      holderId: id,
      connection: { send, request: () => Promise.reject(new Error("not here")), reply, replyError: (callId) => reply(callId, undefined) },
    };
  }

  #said(to: ProcessId, type: number, header: unknown): void {
    const entry = this.workers.get(to);
    if (type !== MESSAGE.ACTOR_START || entry === undefined) return;
    const { actorId, incarnation } = header as ActorStartHeader;
    if (entry.incarnation !== undefined) {
      // Told again: it says again that it has started.
      entry.isReported = false;
      return;
    }
    entry.incarnation = incarnation;
    this.world.started(actorId, this, to);
  }
}

interface HeadWorldResult {
  readonly violations: string[];
  readonly acknowledged: number;
  readonly crashes: number;
  readonly restarts: number;
}

class HeadWorld {
  readonly mutation: RecoveryMutation;
  readonly random: SeededNumbers;
  readonly memory = new KeyTable();
  readonly nodes: ModelNode[];
  readonly violations: string[] = [];
  nowMs = 0;
  crashes = 0;
  restarts = 0;
  head: ModelHead | undefined;
  readonly #created = new Map<number, { actorId: ActorId; name: string | undefined }>();
  /** Actors that may be on one node only. */
  readonly pinned = new Map<ActorId, ModelNode>();
  readonly #groups = new Map<number, string>();
  readonly acknowledgedActors = new Map<ActorId, { name: string | undefined }>();
  readonly acknowledgedGroups = new Set<string>();
  /** Actors that were killed, each with the node that reported so: the words of a node that died may be lost with it. */
  readonly killed = new Map<ActorId, ModelNode>();
  readonly removed = new Map<string, ModelNode>();
  readonly deadNodes = new Set<string>();
  #calls = 0;

  constructor(seed: number, mutation: RecoveryMutation) {
    this.random = new SeededNumbers(seed);
    this.mutation = mutation;
    this.nodes = [0, 1, 2].map((index) => new ModelNode(this, index));
  }

  async startHead(): Promise<void> {
    const store = new SteppedStore(this.memory);
    const leadership = (await claimLeadership(store, { id: `${this.crashes}` })) as Leadership;
    const tables = new RecordedTables();
    const kept = tables.restore(await store.list(HEAD_PREFIX));
    store.isStepped = true;
    this.head = new ModelHead(this, { store, tables, leadership, kept });
  }

  answered(callId: number, header: unknown): void {
    const created = this.#created.get(callId);
    if (created !== undefined && header !== undefined) this.acknowledgedActors.set(created.actorId, created);
    const group = this.#groups.get(callId);
    if (group !== undefined && (header as { state: string }).state === "created") this.acknowledgedGroups.add(group);
  }

  started(actorId: ActorId, node: ModelNode, worker: ProcessId): void {
    if (this.violations.length > 0) return;
    for (const other of this.nodes) {
      for (const [id, { actorId: theirs, incarnation }] of other.workers) {
        if (theirs !== actorId || incarnation === undefined || (other === node && id === worker)) continue;
        this.violations.push(`two workers of ${actorId} have started: ${id} and ${worker}`);
      }
    }
  }

  get live(): ModelNode[] {
    return this.nodes.filter(({ nodeId }) => !this.deadNodes.has(nodeId));
  }

  pick<T>(of: readonly T[]): T | undefined {
    return of[Math.floor(this.random.next() * of.length)];
  }

  create(): void {
    this.#calls += 1;
    const node = this.pick(this.live);
    const actorId = `${this.#calls}`.padStart(32, "c") as ActorId;
    const name = this.random.isLucky(0.5) ? `name${Math.floor(this.random.between(0, 4))}` : undefined;
    const kept = this.live.filter(({ isKept }) => isKept);
    const only = this.#calls % PINNED_EVERY === 0 ? kept[this.#calls % kept.length] : undefined;
    if (only !== undefined) this.pinned.set(actorId, only);
    const header: ActorCreateHeader = {
      actorId,
      definition: "d",
      args: EMPTY,
      deps: [],
      options: {
        name,
        namespace: "n",
        getIfExists: false,
        resources: {},
        shape: only === undefined ? "" : leaseKey(resourceVector({}), { node: { id: only.nodeId, soft: false } }),
        group: undefined,
        maxRestarts: -1,
        isDetached: true,
        interface: {
          className: "C",
          methods: {},
          groups: { default: 1 },
          maxTaskRetries: 0,
          maxPendingCalls: -1,
          allowOutOfOrderExecution: false,
        },
      },
    };
    this.#created.set(this.#calls, { actorId, name });
    node?.ask(MESSAGE.ACTOR_CREATE, header, this.#calls);
  }

  createGroup(): void {
    this.#calls += 1;
    const id = `g${this.#calls}`;
    const group = {
      id,
      name: undefined,
      namespace: "n",
      strategy: "PACK",
      bundles: [{ CPU: 1 }],
      labels: [{}],
      isDetached: true,
      owner: undefined,
    };
    const node = this.pick(this.live);
    node?.ask(MESSAGE.GROUP_CREATE, group);
    this.#groups.set(this.#calls, id);
    node?.ask(MESSAGE.GROUP_WATCH, id, this.#calls);
  }

  kill(): void {
    const id = this.pick([...this.acknowledgedActors.keys()]);
    if (id === undefined) return;
    const node = this.pick(this.live) as ModelNode;
    this.killed.set(id, node);
    node.ask(MESSAGE.ACTOR_KILL, { actorId: id, restart: false });
  }

  removeGroup(): void {
    const id = this.pick([...this.acknowledgedGroups]);
    if (id === undefined) return;
    const node = this.pick(this.live) as ModelNode;
    this.removed.set(id, node);
    node.ask(MESSAGE.GROUP_REMOVE, id);
  }

  /** With all on it, whether or not there is a head to notice. */
  killNode(): void {
    if (this.live.length < 3) return;
    const node = this.pick(this.live) as ModelNode;
    this.deadNodes.add(node.nodeId);
    node.workers.clear();
    node.outbox.length = 0;
    if (this.head?.isAlive === true) this.head.kept.nodeGone(node.nodeId, KILLED);
  }

  async crash(): Promise<void> {
    const { head, random } = this;
    if (head === undefined || !head.isAlive) return;
    this.crashes += 1;
    const when = random.next();
    if (when < 0.3) head.die();
    else if (when < 0.5) {
      await head.store.step({ answers: false });
      head.die();
    } else head.outputsLeft = Math.floor(random.between(0, 6));
  }

  async turn(): Promise<void> {
    for (let microtasks = 0; microtasks < 12; microtasks += 1) await Promise.resolve();
  }
}

/** Every second actor is pinned to one node. */
const PINNED_EVERY = 2;
const KILLED = { reason: "it was killed", goneMs: 0 };

async function ensureHead(world: HeadWorld): Promise<void> {
  if (world.head?.isAlive === true) return;
  await world.startHead();
  for (const nodeId of world.deadNodes) world.head?.kept.nodeGone(nodeId as NodeId, KILLED);
}

/** Lets one more event happen. */
async function happen(world: HeadWorld): Promise<void> {
  const { random } = world;
  const chance = random.next();
  const node = world.pick(world.live) as ModelNode;
  if (chance < 0.1) world.create();
  else if (chance < 0.13) world.createGroup();
  else if (chance < 0.15) world.kill();
  else if (chance < 0.16) world.removeGroup();
  else if (chance < 0.18) {
    const worker = world.pick([...node.workers.keys()]);
    if (worker !== undefined) {
      world.restarts += 1;
      node.crashWorker(worker);
    }
  } else if (chance < 0.2) await world.crash();
  else if (chance < 0.203) world.killNode();
  else if (chance < 0.3) await ensureHead(world);
  else if (chance < 0.4 && world.head?.isAlive === true && !node.isRegistered) node.register(world.head);
  else if (chance < 0.6) node.deliver();
  else if (chance < 0.7) node.grant();
  else if (chance < 0.8) node.finish();
  else await world.head?.store.step({ answers: true });
  world.nowMs += 20_000;
  await world.turn();
}

/** Nothing more goes wrong, and all that is under way comes to its end. */
async function settle(world: HeadWorld): Promise<void> {
  for (let round = 0; round < 400; round += 1) {
    await ensureHead(world);
    const head = world.head as ModelHead;
    head.outputsLeft = Infinity;
    let isQuiet = true;
    for (const node of world.live) {
      if (!node.isRegistered) node.register(head);
      for (const act of [() => node.deliver(), () => node.grant(), () => node.finish()]) if (act()) isQuiet = false;
    }
    if (head.store.isWaiting) {
      isQuiet = false;
      await head.store.step({ answers: true });
    }
    await world.turn();
    if (!isQuiet || !head.isIdle || !world.live.every(({ isSettled }) => isSettled)) continue;
    if (Array.from(head.tables.actors.all()).every(({ phase }) => phase !== "restarting")) return;
    // An actor that died in its constructor is started again after a while, by a timer.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  world.violations.push("it did not settle");
}

function check(world: HeadWorld): void {
  const { tables } = world.head as ModelHead;
  const lost: string[] = [];
  for (const [id, { name }] of world.acknowledgedActors) {
    const actor = tables.actors.get(id);
    const pinned = world.pinned.get(id);
    // The actor died with the only node that may hold it.
    if (actor?.refusal !== undefined && pinned !== undefined && world.deadNodes.has(pinned.nodeId)) continue;
    if (actor === undefined) lost.push(`actor ${id} is lost`);
    else if (actor.phase === "dead" && !world.killed.has(id)) lost.push(`actor ${id} is dead: ${actor.reason}`);
    else if (actor.phase !== "dead" && name !== undefined && tables.actors.named(name, "n")?.id !== id)
      lost.push(`name ${name} of ${id} is lost`);
  }
  const isSaid = (node: ModelNode | undefined): boolean => node !== undefined && world.live.includes(node);
  for (const [id, node] of world.killed)
    if (isSaid(node) && tables.actors.get(id)?.phase !== "dead") lost.push(`killed actor ${id} is not dead`);
  for (const id of world.acknowledgedGroups) {
    const state = tables.groups.get(id)?.header.state;
    const node = world.removed.get(id);
    if (state !== "created" && state !== "rescheduling" && (node === undefined || state !== "removed"))
      lost.push(`group ${id} is ${state}`);
    else if (state === "created" && isSaid(node)) lost.push(`group ${id} is ${state}`);
  }
  const running = new Map<ActorId, number>();
  for (const node of world.live) {
    for (const { actorId, incarnation } of node.workers.values()) {
      running.set(actorId, (running.get(actorId) ?? 0) + 1);
      const actor = tables.actors.get(actorId);
      if (actor === undefined || actor.phase === "dead") lost.push(`a worker of ${actorId}, which is not alive, runs`);
      else if (actor.incarnation !== incarnation) lost.push(`${actorId} runs as ${incarnation}, its incarnation is ${actor.incarnation}`);
    }
  }
  for (const actor of tables.actors.all()) {
    const count = running.get(actor.id) ?? 0;
    if (actor.phase !== "dead" && (count !== 1 || actor.phase !== "alive"))
      lost.push(`${actor.id} is ${actor.phase} with ${count} workers`);
  }
  world.violations.push(...lost);
}

export async function simulateHeads({
  seed,
  mutation = "none",
  steps = 400,
}: {
  seed: number;
  mutation?: RecoveryMutation;
  steps?: number;
}): Promise<HeadWorldResult> {
  const world = new HeadWorld(seed, mutation);
  await ensureHead(world);
  for (let index = 0; index < steps; index += 1) await happen(world);
  await settle(world);
  if (world.violations.length === 0) check(world);
  const { violations, acknowledgedActors, crashes, restarts } = world;
  return { violations, acknowledged: acknowledgedActors.size, crashes, restarts };
}
