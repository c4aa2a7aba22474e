/**
 * The TypeScript side of a rank: the session behind `report`, `getContext` and the other loop functions, and the queue of events for the controller.
 *
 * Owned by the rank's actor (`rank-actor.ts`); found by the functions of `loop-functions.ts` through the actor that they run in, as several ranks may share a process in in-process
 * mode. A rank has at most one arrival that waits for a decision.
 */
import { getRuntimeContext } from "../../core/index.ts";
import type { DataIterator } from "../../data/index.ts";
import type { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import { causesOf } from "../../runs/errors.ts";
import type { Metrics } from "../../runs/metrics/metrics.ts";
import type { BestCheckpoint } from "../../runs/result.ts";
import { type CollectiveGroup, destroyCollectiveGroup, initCollectiveGroup } from "../../util/index.ts";
import { ranksText } from "./arrivals.ts";
import { TrainError } from "../errors.ts";
import type { Arrival, EndedRank, RankContext, RankDecision, RankEvent, RankNotice, TrainPreemptionInfo } from "./rank-protocol.ts";

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
  /** How many operations on arrays of all ranks the loop has begun. All ranks count alike. */
  operations = 0;
  /** The ranks whose loops have ended, the one with the fewest operations first to fail the others. */
  #ended: EndedRank | undefined;
  /** Functions that fail an open operation, by its number, because another rank will not take part. */
  readonly #open = new Map<number, (error: TrainError) => void>();

  constructor(context: RankContext) {
    this.context = context;
  }

  /** Comes to a barrier, and waits for the decision. @throws TrainingStopped where the loop is to end, TrainError where others are late */
  async arrive(arrival: Arrival, call: string): Promise<RankDecision<Checkpoint>> {
    if (this.#waiting !== undefined)
      throw new TrainError(`Cannot ${call}: an earlier call of report or collective has not ended: await each of them`, {
        hint: "await report(...)",
      });
    const decided = new Promise<RankDecision<Checkpoint>>((resolve) => (this.#waiting = { resolve }));
    this.send(arrival);
    const decision = await decided;
    if (decision.action === "late") throw this.#late(call, decision);
    if (decision.checkpoint !== undefined && arrival.type === "report") this.#keep(decision.checkpoint, arrival.metrics);
    if (decision.action === "stop") throw new TrainingStopped(`The loop is told to end: ${decision.reason}`);
    return decision;
  }

  #late(call: string, { timeoutMs, missing }: { timeoutMs: number; missing: readonly number[] }): TrainError {
    const error = new TrainError(`Cannot ${call}: not all ranks came within ${timeoutMs} ms: received no call of ${ranksText(missing)}`, {
      hint: "All ranks must make the same calls of report and collective, equally often.",
    });
    this.#communicationErrors.add(error);
    return error;
  }

  notify(notice: RankNotice<Checkpoint>): void {
    if (notice.type === "stored") return this.#keep(notice.checkpoint, notice.metrics);
    if (notice.type === "ended") return this.#otherEnded(notice);
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

  /** Answers the rank's last event, and waits for the next one. */
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

  #otherEnded(ended: EndedRank): void {
    if (this.#ended === undefined || ended.operations < this.#ended.operations) this.#ended = ended;
    for (const [number, fail] of this.#open) if (number > ended.operations) fail(endedEarlier(ended));
  }

  /** Runs an operation on arrays of all ranks, which fails as soon as one of them cannot come any more. Marks its errors. */
  async communicate<T>(operation: () => Promise<T>, timeoutMs: number | undefined): Promise<T> {
    this.operations += 1;
    const number = this.operations;
    const { promise: failure, reject } = Promise.withResolvers<never>();
    const late = (): void =>
      reject(new TrainError(`Cannot combine arrays: not all ranks came within ${timeoutMs} ms`, { hint: SAME_CALLS }));
    const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
    this.#open.set(number, reject);
    if (this.#ended !== undefined && number > this.#ended.operations) reject(endedEarlier(this.#ended));
    try {
      return await Promise.race([failure, operation()]);
    } catch (error) {
      if (typeof error === "object" && error !== null) this.#communicationErrors.add(error);
      throw error;
    } finally {
      clearTimeout(timer);
      this.#open.delete(number);
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

const SAME_CALLS = "All ranks must call allReduce equally often, with arrays of the same lengths.";

function endedEarlier({ rank, operations }: EndedRank): TrainError {
  const after = `after ${operations} ${operations === 1 ? "operation" : "operations"}`;
  return new TrainError(`Cannot combine arrays: the loop of rank ${rank} has ended ${after} on arrays`, { hint: SAME_CALLS });
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
