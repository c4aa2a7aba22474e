/**
 * The actors of the cluster: their names, incarnations, restarts and ends.
 *
 * A pure state machine: events in, effects out. Creation is committed here before a process starts, so a name is taken by one
 * creation only. Each restart is the next incarnation; callers learn it from `state` effects, and a call that carries an old one is
 * refused by the process. An actor ends when it is killed or terminated, when it dies and has no restart left, and, unless it is
 * detached, when nobody holds it any more or the process that created it ends. One that dies again and again is started again after a growing time.
 */
import { type ActorId, type NodeTag, nodeTagOf, type ProcessId } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import { SetMap } from "../../base/collections/set-map.ts";
import type { WorkerFactsHeader } from "../../wire/cluster/cluster-messages.ts";
import type {
  ActorEnding,
  ActorLeavingHeader,
  ActorOptionsHeader,
  ActorPhase,
  ActorRefusal,
  PayloadHeader,
  WorkerExitedHeader,
} from "../../wire/messages.ts";

export interface ActorSpec {
  readonly definition: string;
  readonly args: PayloadHeader;
  readonly deps: PayloadHeader[];
  readonly body: Uint8Array;
}

export interface ActorRecord {
  readonly id: ActorId;
  readonly options: ActorOptionsHeader;
  readonly creator: ProcessId;
  /** Spec that starts the actor again; undefined once it is dead. */
  spec: ActorSpec | undefined;
  /** Changed by the table alone, which knows them by process, too. */
  readonly watchers: Set<ProcessId>;
  phase: ActorPhase;
  incarnation: number;
  restartsLeft: number;
  /** Consecutive deaths soon after a start. */
  deathsInARow: number;
  startedMs: number;
  /** In milliseconds since 1970; undefined where another head led then. */
  createdAtMs?: number;
  worker: WorkerFactsHeader | undefined;
  /** Whether the actor was told to end, or has announced its end. It may finish its queue, but its name is free. */
  isEnding: boolean;
  ending: ActorEnding | undefined;
  reason: string | undefined;
  exit: WorkerExitedHeader | undefined;
  refusal: ActorRefusal | undefined;
  /** The constructor's error, as it was serialized. */
  error: { header: PayloadHeader; body: Uint8Array } | undefined;
}

export type ActorEvent =
  | { kind: "create"; id: ActorId; creator: ProcessId; options: ActorOptionsHeader; spec: ActorSpec }
  | { kind: "placed"; id: ActorId; worker: WorkerFactsHeader }
  | { kind: "started"; id: ActorId; incarnation: number; nowMs: number }
  /** The actor can never be placed. */
  | { kind: "refused"; id: ActorId; refusal: ActorRefusal }
  | { kind: "startFailed"; id: ActorId; incarnation: number; error: { header: PayloadHeader; body: Uint8Array } }
  /** The actor's process is about to end by its own decision, without a restart. */
  | { kind: "leaving"; worker: ProcessId; leaving: ActorLeavingHeader | undefined }
  | { kind: "workerExited"; worker: ProcessId; exit: WorkerExitedHeader | undefined; intended: boolean; nowMs: number }
  | { kind: "kill"; id: ActorId; restart: boolean; reason?: string }
  | { kind: "unheld"; id: ActorId }
  | { kind: "processGone"; process: ProcessId }
  | { kind: "watch"; id: ActorId; process: ProcessId }
  /** `getIfExists` found an actor, so that of the id `id` is not created. */
  | { kind: "found"; id: ActorId; existing: ActorId; creator: ProcessId };

type EventOf<Kind extends ActorEvent["kind"]> = Extract<ActorEvent, { kind: Kind }>;

export type ActorEffect =
  /** Once the delay is over, unless it has died by then. */
  | { kind: "place"; actor: ActorRecord; delayMs: number }
  | { kind: "start"; actor: ActorRecord; worker: WorkerFactsHeader }
  | { kind: "state"; actor: ActorRecord; watchers: Iterable<ProcessId> }
  /** Handles with the id `from` mean this actor. */
  | { kind: "redirect"; actor: ActorRecord; from: ActorId; watchers: Iterable<ProcessId> }
  /** `afterPending`: it may finish the calls that it has. */
  | { kind: "end"; actor: ActorRecord; worker: ProcessId; afterPending: boolean; reason: string }
  /** The actor's resources are returned. */
  | { kind: "gone"; actor: ActorRecord }
  /** The actor is dead, so its constructor's arguments are no longer needed. */
  | { kind: "ended"; actor: ActorRecord; spec: ActorSpec }
  /** Handles with another id keep it alive, from now on or no longer. */
  | { kind: "hold" | "release"; actor: ActorRecord };

const UNHELD = "nobody held a handle of it any more";
/** The dead are remembered so that late callers learn the cause; the oldest are forgotten. */
const DEAD_MAX = 10_000;
/** The first restart is immediate. An actor that dies soon after each start waits longer each time. */
const RESTART_DELAY_MIN_MS = 100;
/** Delay before an actor that had started restarts: its callers wait, so the delay is short for every cause of death. */
const RESTART_DELAY_MAX_MS = 1_000;
/** Delay after failed constructors, which would otherwise occupy a core for nothing. */
const FAILED_START_DELAY_MAX_MS = 10_000;
/** An actor that lived this long did not die from a failed start. */
const STABLE_AFTER_MS = 10_000;

/** A handle's id that means an actor of another one. */
export interface Alias {
  readonly existing: ActorId;
  /** On whose node handles with the id are counted. */
  readonly creator: ProcessId;
}

/** Key by which a named actor is found. */
export interface ActorName {
  name: string;
  namespace: string;
}

export class ActorTable {
  readonly #actors = new Map<ActorId, ActorRecord>();
  readonly #byWorker = new Map<ProcessId, ActorRecord>();
  readonly #names = new Map<string, ActorId>();
  readonly #namesIn = new SetMap<string, string>();
  readonly #namespacesOf = new SetMap<string, string>();
  readonly #dead: ActorId[] = [];
  /** Living actors by creator, and all actors by watcher. Processes end by the thousand, and each end concerns few actors. */
  readonly #byCreator = new SetMap<ProcessId, ActorRecord>();
  readonly #byWatcher = new SetMap<ProcessId, ActorRecord>();
  /** Processes that asked for an actor before its creation arrived. A handle may travel faster, as creation waits for its arguments. */
  readonly #awaited = new SetMap<ActorId, ProcessId>();
  /** Ids of handles for which `getIfExists` found another actor. */
  readonly #aliases = new Map<ActorId, Alias>();

  /** Returns the living actors in a placement group, and those that wait for it. */
  inGroup(group: string): ActorRecord[] {
    const isIn = (actor: ActorRecord): boolean => actor.phase !== "dead" && actor.options.group === group;
    return Array.from(this.#actors.values()).filter(isIn);
  }

  /** The workers of a node that are actors. */
  workersOf(tag: NodeTag): WorkerFactsHeader[] {
    const workers = Array.from(this.#byWorker.values(), (actor) => actor.worker);
    return workers.filter((worker) => worker !== undefined && nodeTagOf(worker.id) === tag) as WorkerFactsHeader[];
  }

  /** The processes of a node that created an actor which lives. */
  creatorsOf(tag: NodeTag): Set<ProcessId> {
    const creators = new Set<ProcessId>();
    for (const creator of this.#byCreator.keys()) if (nodeTagOf(creator) === tag) creators.add(creator);
    return creators;
  }

  /** Ids that handles are counted under on a node. */
  aliasesOf(tag: NodeTag): ActorId[] {
    return Array.from(this.#aliases).flatMap(([id, { creator }]) => (nodeTagOf(creator) === tag ? [id] : []));
  }

  get(id: ActorId): ActorRecord | undefined {
    return this.#actors.get(id);
  }

  byWorker(worker: ProcessId): ActorRecord | undefined {
    return this.#byWorker.get(worker);
  }

  named(name: string, namespace: string): ActorRecord | undefined {
    const id = this.#names.get(nameKey(name, namespace));
    return id === undefined ? undefined : this.#actors.get(id);
  }

  /** The names of a namespace, the oldest first. */
  namesIn(namespace: string, limit: number): string[] {
    return this.#namesIn.get(namespace).values().take(limit).toArray();
  }

  /** Where there is an actor of the name. */
  namespacesOf(name: string): string[] {
    return Array.from(this.#namespacesOf.get(name));
  }

  /** Returns the actor that handles with this id mean, after `getIfExists` found an existing one. */
  aliasOf(id: ActorId): Alias | undefined {
    return this.#aliases.get(id);
  }

  /** Restores the actors that an earlier head kept, in order of creation. */
  restore(actors: Iterable<ActorRecord>, aliases: ReadonlyMap<ActorId, Alias>): void {
    for (const actor of actors) {
      const { id, phase, worker, options } = actor;
      this.#actors.set(id, actor);
      if (worker !== undefined) this.#byWorker.set(worker.id, actor);
      if (phase !== "dead") this.#byCreator.add(actor.creator, actor);
      for (const watcher of actor.watchers) this.#byWatcher.add(watcher, actor);
      if (phase === "dead") this.#dead.push(id);
      // An actor that is about to end has already released its name.
      else if (options.name !== undefined && !actor.isEnding) this.#takeName(options.name, options.namespace, id);
    }
    for (const [id, alias] of aliases) this.#aliases.set(id, alias);
  }

  /** All that are known, the dead among them, in the order of their creation. */
  all(): Iterable<ActorRecord> {
    return this.#actors.values();
  }

  handle(event: ActorEvent): ActorEffect[] {
    switch (event.kind) {
      case "create":
        return this.#create(event);
      case "placed":
        return this.#placed(event);
      case "started":
        return this.#started(event);
      case "refused":
        return this.#refused(event);
      case "startFailed":
        return this.#startFailed(event);
      case "leaving":
        return this.#leaving(event);
      case "workerExited":
        return this.#workerExited(event);
      case "kill":
        return this.#kill(event);
      case "unheld":
        return this.#unheld(event);
      case "processGone":
        return this.#processGone(event);
      case "watch":
        return this.#watch(event);
      case "found":
        return this.#found(event);
    }
  }

  /** @throws Error for a state that no event may lead to */
  checkInvariants(): void {
    for (const [key, id] of this.#names) {
      const actor = this.#live(id);
      invariant(actor !== undefined && !actor.isEnding, `the name ${key} belongs to ${id}, which has ended`);
      invariant(nameKey(actor?.options.name ?? "", actor?.options.namespace ?? "") === key, `${id} has another name than ${key}`);
    }
    for (const [worker, actor] of this.#byWorker)
      invariant(actor.worker?.id === worker, `worker ${worker} is listed for ${actor.id}, which has another worker`);
    for (const actor of this.#actors.values()) this.#checkActor(actor);
    invariant(new Set(this.#dead).size === this.#dead.length, "an actor has died twice");
  }

  #checkActor(actor: ActorRecord): void {
    const { id, phase, worker, creator, watchers } = actor;
    const isDead = phase === "dead";
    invariant(this.#byCreator.get(creator).has(actor) !== isDead, `${id} is ${phase}, and its creator's row says otherwise`);
    invariant(!isDead || actor.spec === undefined, `${id} is dead, and its arguments are kept`);
    invariant(worker === undefined || this.#byWorker.get(worker.id) === actor, `worker ${worker?.id} of ${id} is not found by its id`);
    invariant(phase !== "alive" || worker !== undefined, `${id} is alive without a worker`);
    for (const watcher of watchers)
      invariant(this.#byWatcher.get(watcher).has(actor), `watcher ${watcher} of ${id} is not found by its id`);
  }

  #create(event: EventOf<"create">): ActorEffect[] {
    const { id, options, creator, spec } = event;
    if (this.#actors.has(id)) return [];
    const watchers = new Set([creator, ...this.#awaited.take(id)]);
    const actor = newActor({ id, options, creator, spec, watchers, restartsLeft: options.maxRestarts });
    this.#actors.set(id, actor);
    this.#byCreator.add(creator, actor);
    for (const watcher of actor.watchers) this.#byWatcher.add(watcher, actor);
    if (options.name !== undefined) this.#takeName(options.name, options.namespace, id);
    return [{ kind: "place", actor, delayMs: 0 }];
  }

  #placed(event: EventOf<"placed">): ActorEffect[] {
    const actor = this.#actors.get(event.id);
    if (actor === undefined || actor.worker?.id === event.worker.id) return [];
    // The actor died, or another node placed it first, while this node looked for a worker.
    if (actor.phase === "dead" || actor.worker !== undefined) {
      return [{ kind: "end", actor, worker: event.worker.id, afterPending: false, reason: "its actor does not need it any more" }];
    }
    actor.worker = event.worker;
    this.#byWorker.set(event.worker.id, actor);
    return [{ kind: "start", actor, worker: event.worker }];
  }

  #started(event: EventOf<"started">): ActorEffect[] {
    const actor = this.#live(event.id);
    if (actor === undefined || actor.incarnation !== event.incarnation) return [];
    actor.phase = "alive";
    actor.startedMs = event.nowMs;
    return [{ kind: "state", actor, watchers: actor.watchers }];
  }

  #refused(event: EventOf<"refused">): ActorEffect[] {
    const actor = this.#live(event.id);
    if (actor === undefined) return [];
    actor.refusal = event.refusal;
    return this.#die(actor, "notCreated", event.refusal.reason);
  }

  #startFailed(event: EventOf<"startFailed">): ActorEffect[] {
    const actor = this.#live(event.id);
    if (actor === undefined || actor.incarnation !== event.incarnation) return [];
    actor.error = event.error;
    return this.#die(actor, "constructorFailed", "its constructor failed");
  }

  #leaving(event: EventOf<"leaving">): ActorEffect[] {
    const actor = this.#byWorker.get(event.worker);
    if (actor === undefined) return [];
    if (event.leaving?.ending === "declined") return this.#declined(actor, event.worker);
    this.#beginEnd(actor, event.leaving);
    return [];
  }

  /** Places the actor on another worker. Nothing of this incarnation has begun, so it uses up no restart. */
  #declined(actor: ActorRecord, worker: ProcessId): ActorEffect[] {
    if (actor.phase !== "pending" && actor.phase !== "restarting") return [];
    this.#byWorker.delete(worker);
    actor.worker = undefined;
    return [
      { kind: "gone", actor },
      { kind: "place", actor, delayMs: 0 },
    ];
  }

  #kill(event: EventOf<"kill">): ActorEffect[] {
    const actor = this.#live(event.id);
    if (actor === undefined) return [];
    if (event.restart && actor.restartsLeft !== 0) {
      // An actor without a worker is about to start afresh anyway.
      if (actor.worker === undefined) return [];
      return [
        {
          kind: "end",
          actor,
          worker: actor.worker.id,
          afterPending: false,
          reason: event.reason ?? "kill() was called with a restart",
        },
      ];
    }
    return this.#die(actor, "killed", "it was killed by kill()");
  }

  #unheld(event: EventOf<"unheld">): ActorEffect[] {
    this.#awaited.take(event.id);
    const alias = this.#aliases.get(event.id);
    if (alias !== undefined) {
      this.#aliases.delete(event.id);
      const found = this.#actors.get(alias.existing);
      return found === undefined ? [] : [{ kind: "release", actor: found }];
    }
    const actor = this.#live(event.id);
    if (actor === undefined || actor.options.isDetached) return [];
    if (actor.phase === "alive" && actor.worker !== undefined) {
      this.#beginEnd(actor, { ending: "unheld", reason: UNHELD });
      return [{ kind: "end", actor, worker: actor.worker.id, afterPending: true, reason: UNHELD }];
    }
    return this.#die(actor, "unheld", UNHELD);
  }

  #processGone(event: EventOf<"processGone">): ActorEffect[] {
    const effects: ActorEffect[] = [];
    for (const id of this.#awaited.keys()) this.#awaited.delete(id, event.process);
    for (const actor of this.#byWatcher.take(event.process)) actor.watchers.delete(event.process);
    for (const actor of Array.from(this.#byCreator.get(event.process))) {
      if (!actor.options.isDetached) effects.push(...this.#die(actor, "creatorGone", "the process that had created it ended"));
    }
    return effects;
  }

  #watch(event: EventOf<"watch">): ActorEffect[] {
    const alias = this.#aliases.get(event.id);
    const actor = this.#actors.get(alias?.existing ?? event.id);
    if (actor === undefined) {
      this.#awaited.add(event.id, event.process);
      return [];
    }
    if (alias !== undefined) return [{ kind: "redirect", actor, from: event.id, watchers: [event.process] }];
    actor.watchers.add(event.process);
    this.#byWatcher.add(event.process, actor);
    return actor.phase === "pending" ? [] : [{ kind: "state", actor, watchers: [event.process] }];
  }

  #found(event: EventOf<"found">): ActorEffect[] {
    const actor = this.#actors.get(event.existing);
    if (actor === undefined) return [];
    this.#aliases.set(event.id, { existing: event.existing, creator: event.creator });
    // A process may hold a handle with this id and know no other id of the actor.
    return [
      { kind: "hold", actor },
      { kind: "redirect", actor, from: event.id, watchers: this.#awaited.take(event.id) },
    ];
  }

  #workerExited(event: EventOf<"workerExited">): ActorEffect[] {
    const actor = this.#byWorker.get(event.worker);
    if (actor === undefined) return [];
    this.#byWorker.delete(event.worker);
    actor.worker = undefined;
    const { exit } = event;
    actor.exit = exit;
    if (actor.phase === "dead") return [{ kind: "state", actor, watchers: actor.watchers }];
    if (event.intended) return this.#die(actor, "terminated", "it was terminated", exit);
    if (actor.restartsLeft === 0) return this.#die(actor, "crashed", "its process ended", exit);
    if (actor.restartsLeft > 0) actor.restartsLeft -= 1;
    const hadStarted = actor.phase === "alive";
    const wasStable = hadStarted && event.nowMs - actor.startedMs >= STABLE_AFTER_MS;
    const delayMs = wasStable ? 0 : restartDelayMs(actor.deathsInARow, hadStarted ? RESTART_DELAY_MAX_MS : FAILED_START_DELAY_MAX_MS);
    actor.deathsInARow = wasStable ? 1 : actor.deathsInARow + 1;
    actor.phase = "restarting";
    actor.incarnation += 1;
    return [
      { kind: "state", actor, watchers: actor.watchers },
      { kind: "gone", actor },
      { kind: "place", actor, delayMs },
    ];
  }

  /** Lets the actor answer its queue, but releases its name, so that a lookup does not find an actor that is about to end. */
  #beginEnd(actor: ActorRecord, why: { ending: ActorEnding; reason: string } | undefined): void {
    actor.ending ??= why?.ending;
    actor.reason ??= why?.reason;
    actor.isEnding = true;
    actor.restartsLeft = 0;
    this.#releaseName(actor);
  }

  #takeName(name: string, namespace: string, id: ActorId): void {
    this.#names.set(nameKey(name, namespace), id);
    this.#namesIn.add(namespace, name);
    this.#namespacesOf.add(name, namespace);
  }

  #releaseName(actor: ActorRecord): void {
    const { name, namespace } = actor.options;
    if (name === undefined || this.#names.get(nameKey(name, namespace)) !== actor.id) return;
    this.#names.delete(nameKey(name, namespace));
    this.#namesIn.delete(namespace, name);
    this.#namespacesOf.delete(name, namespace);
  }

  /** @param exit of the process that died with the actor; exits of earlier incarnations do not explain this death */
  #die(actor: ActorRecord, ending: ActorEnding, reason: string, exit?: WorkerExitedHeader): ActorEffect[] {
    actor.phase = "dead";
    actor.exit = exit;
    actor.ending ??= ending;
    actor.reason ??= reason;
    this.#releaseName(actor);
    this.#byCreator.delete(actor.creator, actor);
    this.#dead.push(actor.id);
    if (this.#dead.length > DEAD_MAX) this.#forget(this.#dead.shift() as ActorId);
    const effects: ActorEffect[] = [
      { kind: "state", actor, watchers: actor.watchers },
      { kind: "gone", actor },
    ];
    if (actor.worker !== undefined)
      effects.push({ kind: "end", actor, worker: actor.worker.id, afterPending: false, reason: actor.reason });
    if (actor.spec !== undefined) effects.push({ kind: "ended", actor, spec: actor.spec });
    actor.spec = undefined;
    return effects;
  }

  #forget(id: ActorId): void {
    const actor = this.#actors.get(id);
    this.#actors.delete(id);
    for (const watcher of actor?.watchers ?? []) this.#byWatcher.delete(watcher, actor as ActorRecord);
  }

  #live(id: ActorId): ActorRecord | undefined {
    const actor = this.#actors.get(id);
    return actor === undefined || actor.phase === "dead" ? undefined : actor;
  }
}

/** Makes a pending actor with these fields and defaults for the rest. */
export function newActor(known: Pick<ActorRecord, "id" | "options" | "creator" | "spec"> & Partial<ActorRecord>): ActorRecord {
  return {
    watchers: new Set(),
    phase: "pending",
    incarnation: 0,
    restartsLeft: 0,
    deathsInARow: 0,
    startedMs: 0,
    worker: undefined,
    isEnding: false,
    ending: undefined,
    reason: undefined,
    exit: undefined,
    refusal: undefined,
    error: undefined,
    ...known,
  };
}

function nameKey(name: string, namespace: string): string {
  return JSON.stringify([namespace, name]);
}

function restartDelayMs(deathsInARow: number, maxMs: number): number {
  return deathsInARow === 0 ? 0 : Math.min(maxMs, RESTART_DELAY_MIN_MS * 2 ** (deathsInARow - 1));
}
