/**
 * The TypeScript side of a rank: the session behind `report`, `getContext` and the other loop functions, and the queue of events for the controller.
 *
 * Owned by the rank's actor (`rank-actor.ts`); found by the functions of `loop-functions.ts` through the actor that they run in, as several ranks may share a process in in-process
 * mode. A rank has at most one arrival that waits for a decision.
 */
import { getRuntimeContext } from "../core/index.ts";
import type { DataIterator } from "../data/index.ts";
import type { Checkpoint } from "../runs/checkpoint.ts";
import { causesOf } from "../runs/errors.ts";
import type { Metrics } from "../runs/metrics.ts";
import type { BestCheckpoint } from "../runs/result.ts";
import { type CollectiveGroup, destroyCollectiveGroup, initCollectiveGroup } from "../util/index.ts";
import { TrainError } from "./errors.ts";
import type { Arrival, RankContext, RankDecision, RankEvent, RankNotice, TrainPreemptionInfo } from "./rank-protocol.ts";

/** Thrown by `report` where the loop is to end: it passes through the loop, and is no failure. */
export class TrainingStopped extends Error {
  override readonly name = "TrainingStopped";
}

export class RankSession {
  readonly context: RankContext;
  checkpoint: Checkpoint | undefined;
  /** In the order in which they were reported, by this attempt and those before. */
  readonly reported: BestCheckpoint[] = [];
  datasets: Readonly<Record<string, DataIterator>> = {};
  preemption: TrainPreemptionInfo | undefined;
  readonly #events: RankEvent[] = [];
  #listener: ((event: RankEvent) => void) | undefined;
  /** The arrival that waits. */
  #waiting: { resolve(decision: RankDecision<Checkpoint>): void } | undefined;
  #group: Promise<CollectiveGroup> | undefined;
  /** Errors of operations between ranks: they follow from the end of another rank. */
  readonly #communicationErrors = new WeakSet<object>();

  constructor(context: RankContext) {
    this.context = context;
  }

  /** Comes to a barrier, and waits for the decision. @throws TrainingStopped where the loop is to end */
  async arrive(arrival: Arrival, call: string): Promise<RankDecision<Checkpoint>> {
    if (this.#waiting !== undefined)
      throw new TrainError(`Cannot ${call}: an earlier call of report or collective has not ended: await each of them`, {
        hint: "await report(...)",
      });
    const decided = new Promise<RankDecision<Checkpoint>>((resolve) => (this.#waiting = { resolve }));
    this.send(arrival);
    const decision = await decided;
    if (decision.checkpoint !== undefined && arrival.type === "report") this.#keep(decision.checkpoint, arrival.metrics);
    if (decision.action === "stop") throw new TrainingStopped(`The loop is told to end: ${decision.reason}`);
    return decision;
  }

  notify(notice: RankNotice<Checkpoint>): void {
    if (notice.type === "stored") return this.#keep(notice.checkpoint, notice.metrics);
    const { type: _, ...preemption } = notice;
    this.preemption = preemption;
  }

  #keep(checkpoint: Checkpoint, metrics: Metrics): void {
    this.checkpoint = checkpoint;
    this.reported.push({ checkpoint, metrics });
  }

  send(event: RankEvent): void {
    const listener = this.#listener;
    this.#listener = undefined;
    if (listener === undefined) this.#events.push(event);
    else listener(event);
  }

  /** Answers what the rank waits with, and waits for what comes next. */
  nextEvent(decision: RankDecision<Checkpoint> | undefined): Promise<RankEvent> {
    if (decision !== undefined) {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.resolve(decision);
    }
    const event = this.#events.shift();
    if (event !== undefined) return Promise.resolve(event);
    return new Promise((resolve) => (this.#listener = resolve));
  }

  /** The group of all ranks for operations on arrays: made when the loop first needs it. */
  async group(): Promise<CollectiveGroup> {
    const { worldSize, worldRank: rank } = this.context;
    this.#group ??= initCollectiveGroup({ worldSize, rank, groupName: this.#groupName });
    return this.#group;
  }

  /** Marks the errors of an operation between ranks. */
  async communicate<T>(operation: () => Promise<T>): Promise<T> {
    try {
      return await operation();
    } catch (error) {
      if (typeof error === "object" && error !== null) this.#communicationErrors.add(error);
      throw error;
    }
  }

  /** Whether an error, or what led to it, is one of communication. */
  isOfCommunication(error: unknown): boolean {
    return causesOf(error).some((each) => this.#communicationErrors.has(each));
  }

  async close(): Promise<void> {
    if (this.#group !== undefined) await destroyCollectiveGroup(this.#groupName);
  }

  get #groupName(): string {
    const { runPath, attempt } = this.context;
    return `shoal/train ${runPath} ${attempt}`;
  }
}

const sessions = new Map<string, RankSession>();

export function openSession(session: RankSession): void {
  sessions.set(ownKey(), session);
}

export function closeSession(): void {
  sessions.delete(ownKey());
}

/** @throws TrainError outside of a training loop */
export function currentSession(call: string): RankSession {
  const session = sessions.get(ownKey());
  if (session !== undefined) return session;
  throw new TrainError(`Cannot ${call}: this code runs in no training loop`, {
    hint: "It is for trainLoopPerWorker of a trainer, and for what that calls.",
  });
}

/** The actor that the code runs in; in local mode there is none. */
function ownKey(): string {
  return getRuntimeContext().actorId ?? "";
}
