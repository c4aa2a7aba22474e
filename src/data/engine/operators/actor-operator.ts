/**
 * The operator that sends blocks to a pool of actors, which keep the state of their class, such as a model.
 *
 * Each actor has a lane: its unfinished calls in the order of the input. The pool grows while blocks wait and all actors work, and it ends idle actors. When an
 * actor dies, a new actor takes over its lane unchanged. So calls keep their order, and the first block of the output never waits behind a later one. Blocks
 * that a call gave before the death are not given twice.
 */
import { ActorDiedError } from "../../../core/index.ts";
import { ACTOR_DEATHS_MAX, ACTOR_END_MS, ACTOR_IDLE_MS } from "../../limits.ts";
import type { ErroredBlocks } from "../tasks/errored-blocks.ts";
import { partsAfterDeath, rowsText } from "../tasks/cut-blocks.ts";
import { InputQueue } from "../input-queue.ts";
import { type BlockRef, type Operator, type OperatorEvents, type OperatorLoad, OperatorStatistics } from "./operator.ts";
import type { ActorStart, PoolActor } from "../pools/pool-actor.ts";
import type { CpuAccount } from "../pools/pool-cpus.ts";
import type { StepClaim } from "../pools/resource-limits.ts";
import { type RunningStream, RunningStreams } from "../streams/running-streams.ts";

export interface ActorPoolOptions {
  readonly name: string;
  readonly actors: ActorStart;
  readonly min: number;
  readonly max: number;
  readonly initial: number;
  /** Calls that an actor runs at a time; those behind them wait, and are not why it dies. Default: one. */
  readonly callsAtATime?: number | undefined;
  /** Calls that an actor has at a time: those that run and those that wait behind them. */
  readonly tasksInFlightMax: number;
  /** How often each actor is replaced. Default: as long as not too many die in a row without an end of their constructor. */
  readonly maxRestarts: number | undefined;
  /** How often a call is begun again because of deaths; -1 is without end. Default: as long as it gives something in between. */
  readonly maxTaskRetries: number | undefined;
  /** CPUs of each actor, from the pipeline's account. */
  readonly numCpus: number;
  readonly cpus: CpuAccount;
  /** The resources that each actor holds, of those that have a limit; its calls hold none. Default: none. */
  readonly actorClaim?: StepClaim | undefined;
  readonly rowsPerTaskMin: number;
  readonly preserveOrder: boolean;
  readonly errored?: ErroredBlocks | undefined;
  readonly events: OperatorEvents;
}

/** One call of an actor. */
interface Call {
  stream: RunningStream;
  /** The call's place among all calls, in the order of the input. */
  readonly place: number;
  /** Deaths of actors that ran the call. */
  deaths: number;
  /** Since it gave a block. */
  deathsInRow: number;
}

/** An actor and its calls; a new actor replaces one that died. */
interface Lane {
  actor: PoolActor;
  isReady: boolean;
  calls: Call[];
  deaths: number;
  /** Deaths in a row of actors whose constructor had not ended. */
  deathsInRow: number;
  idleTimer: NodeJS.Timeout | undefined;
  /** CPUs of the lane's actor. */
  numCpus: number;
}

export class ActorPoolOperator implements Operator {
  readonly name: string;
  readonly statistics = new OperatorStatistics();
  readonly #options: ActorPoolOptions;
  readonly #queue: InputQueue;
  readonly #streams: RunningStreams;
  readonly #lanes = new Set<Lane>();
  readonly #laneOf = new WeakMap<RunningStream, Lane>();
  /** Actors that were told to end and have not. */
  readonly #ending = new Map<PoolActor, Promise<void>>();
  #callsBegun = 0;
  #max: number;
  #numCpus: number;
  #isStopped = false;
  /** Whether the actors to begin with have begun. */
  #isFilled = false;

  constructor(options: ActorPoolOptions) {
    this.name = options.name;
    this.#options = options;
    this.#max = options.max;
    this.#numCpus = options.numCpus;
    this.#queue = new InputQueue(options);
    this.#streams = new RunningStreams({
      ...options,
      statistics: this.statistics,
      onFailure: (stream, error) => {
        const lane = this.#laneOf.get(stream);
        if (lane !== undefined) void this.#hasFailed(lane, lane.actor, error, stream);
      },
      onProgress: (stream) => this.#hasProgressed(stream),
    });
  }

  /** How many actors live or are being made. */
  get actorCount(): number {
    return this.#lanes.size;
  }

  /** An actor that is being made counts where input waits for it: nothing else has to go on meanwhile. */
  get runningCount(): number {
    return this.#streams.pulledCount + (this.#queue.hasTask ? this.#startingCount : 0);
  }

  get pulledSinceMs(): readonly number[] {
    return this.#streams.pulledSinceMs;
  }

  get heldBytes(): number {
    return this.#queue.heldBytes + this.#streams.heldBytes;
  }

  get load(): OperatorLoad {
    return { queuedBlocks: this.#queue.count, workers: this.actorCount };
  }

  get isSatisfied(): boolean {
    return this.#isStopped;
  }

  get isDone(): boolean {
    return this.#isStopped || (this.#queue.isEnded && this.#streams.count === 0);
  }

  /** Begins the fewest actors. Within limits the others begin once all pools have their fewest. */
  open(): void {
    for (let i = 0; i < this.#options.min; i += 1) this.#addLane();
    if (this.#options.actorClaim === undefined) this.#fill();
  }

  #fill(): void {
    if (this.#isFilled || this.#isStopped) return;
    this.#isFilled = true;
    const { min, initial } = this.#options;
    for (let i = min; i < initial && this.#hasRoom(); i += 1) this.#addLane();
  }

  add(block: BlockRef): void {
    if (this.#isStopped) {
      block.release();
      return;
    }
    this.#queue.add(block);
    this.#grow();
  }

  endInput(): void {
    this.#queue.end();
    this.#grow();
    this.#endIdle();
  }

  canStart(): boolean {
    return !this.#isStopped && this.#queue.hasTask && this.#freestLane() !== undefined;
  }

  start(): void {
    const lane = this.#freestLane() as Lane;
    const inputs = this.#queue.next(this.#max * this.#options.tasksInFlightMax);
    try {
      const stream = this.#streams.add(lane.actor.run(inputs), inputs);
      this.#laneOf.set(stream, lane);
      lane.calls.push({ stream, place: this.#callsBegun, deaths: 0, deathsInRow: 0 });
      this.#callsBegun += 1;
      clearTimeout(lane.idleTimer);
    } catch (error) {
      for (const input of inputs) input.release();
      this.#options.events.onFailure(error);
      return;
    }
    this.#grow();
    this.#endIdle();
  }

  needs(): boolean {
    return true;
  }

  pull(which: "all" | "next"): boolean {
    // Within limits the pool has its turn among the steps, and room may have come since its input did.
    if (this.#options.actorClaim !== undefined) {
      this.#fill();
      this.#grow();
    }
    return this.#streams.pull(which);
  }

  take(): BlockRef | undefined {
    return this.#streams.take();
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#streams.stop();
    this.#queue.stop();
    for (const lane of this.#lanes) this.#endLane(lane, "now");
    this.#options.actors.close();
  }

  /** There is less room than before: actors beyond that hand their calls to others, and all of them hold no more than this. */
  fit({ max, numCpus }: { readonly max: number; readonly numCpus: number }): void {
    if (this.#isStopped) return;
    this.#max = max;
    this.#numCpus = numCpus;
    const { min, cpus } = this.#options;
    const changed = new Set<Lane>();
    for (const lane of this.#lanes) {
      if (this.#lanes.size <= min || (this.#lanes.size <= max && cpus.hasRoom(0))) break;
      this.#endLane(lane, "now");
      changed.delete(lane);
      const heir = this.#leastLane();
      if (heir === undefined || lane.calls.length === 0) continue;
      this.#handOver(lane, heir);
      changed.add(heir);
    }
    for (const lane of this.#lanes) if (changed.has(lane) || lane.numCpus > numCpus) this.#renew(lane);
    this.#options.events.onChange();
  }

  async ended(): Promise<void> {
    const timer = setTimeout(() => {
      for (const actor of this.#ending.keys()) this.#endActor(actor, "now");
    }, ACTOR_END_MS);
    while (this.#ending.size > 0) await Promise.all(this.#ending.values());
    clearTimeout(timer);
  }

  // -------------------------------------------------------------------------------------------------------------------
  // The size of the pool

  get #startingCount(): number {
    return [...this.#lanes].filter((lane) => !lane.isReady).length;
  }

  /** The actor with the fewest calls that may have one more. */
  #freestLane(): Lane | undefined {
    let freest: Lane | undefined;
    for (const lane of this.#lanes)
      if (lane.isReady && lane.calls.length < (freest?.calls.length ?? this.#options.tasksInFlightMax)) freest = lane;
    return freest;
  }

  /** Adds actors for waiting blocks if all actors work. Actors whose blocks no consumer takes stand still, and more actors would not help. */
  #grow(): void {
    const { tasksInFlightMax } = this.#options;
    const lanes = [...this.#lanes].filter((lane) => lane.isReady);
    if (!lanes.every((lane) => lane.calls.some(({ stream }) => stream.isPulled))) return;
    const free = lanes.reduce((sum, lane) => sum + Math.max(0, tasksInFlightMax - lane.calls.length), 0);
    let missing = this.#queue.taskCount - free - this.#startingCount;
    for (; missing > 0 && this.#lanes.size < this.#max && !this.#isStopped && this.#hasRoom(); missing -= 1) this.#addLane();
  }

  /** Whether one more actor finds its resources. */
  #hasRoom(): boolean {
    const { cpus, actorClaim } = this.#options;
    return cpus.hasRoom(this.#numCpus) && actorClaim?.admitsActor(this.#numCpus) !== false;
  }

  #addLane(): void {
    const actor = this.#startActor();
    if (actor === undefined) return;
    const lane: Lane = { actor, isReady: false, calls: [], deaths: 0, deathsInRow: 0, idleTimer: undefined, numCpus: this.#numCpus };
    this.#lanes.add(lane);
    this.#take(lane);
    this.#awaitReady(lane);
  }

  #endLane(lane: Lane, when: "after its calls" | "now"): void {
    this.#lanes.delete(lane);
    clearTimeout(lane.idleTimer);
    this.#endActor(lane.actor, when);
    this.#give(lane);
  }

  #take({ numCpus }: Lane): void {
    this.#options.cpus.take(numCpus);
    this.#options.actorClaim?.takeForActor(numCpus);
  }

  #give({ numCpus }: Lane): void {
    this.#options.cpus.give(numCpus);
    this.#options.actorClaim?.giveOfActor(numCpus);
  }

  #endActor(actor: PoolActor, when: "after its calls" | "now"): void {
    const ending = actor
      .end(when)
      // The actor has ended with or without an error.
      .catch(() => {})
      .then(() => {
        if (this.#ending.get(actor) === ending) this.#ending.delete(actor);
      });
    this.#ending.set(actor, ending);
  }

  /** Ends the actors that have no call: all where none will come, those beyond the most, and those beyond the fewest after a while. */
  #endIdle(): void {
    for (const lane of this.#lanes) {
      if (lane.calls.length > 0) continue;
      if (this.#queue.isEnded || this.#lanes.size > this.#max) this.#endLane(lane, lane.isReady ? "after its calls" : "now");
      else if (lane.isReady) this.#endLater(lane);
    }
  }

  #endLater(lane: Lane): void {
    clearTimeout(lane.idleTimer);
    lane.idleTimer = setTimeout(() => {
      if (lane.calls.length > 0 || !this.#lanes.has(lane) || this.#lanes.size <= this.#options.min) return;
      this.#endLane(lane, "after its calls");
      // Other steps may have waited for the room that it took.
      this.#options.events.onChange();
    }, ACTOR_IDLE_MS);
    lane.idleTimer.unref();
  }

  // -------------------------------------------------------------------------------------------------------------------
  // The lives of actors

  #startActor(): PoolActor | undefined {
    try {
      return this.#options.actors.start(this.#numCpus);
    } catch (error) {
      this.#options.events.onFailure(error);
      return undefined;
    }
  }

  #awaitReady(lane: Lane): void {
    const { actor } = lane;
    actor.ready.then(
      () => {
        if (lane.actor === actor && this.#lanes.has(lane)) this.#isReady(lane);
      },
      (error: unknown) => this.#hasFailed(lane, actor, error),
    );
  }

  /** Gives a new actor the calls of its lane, which a dead actor may have had before. */
  #isReady(lane: Lane): void {
    lane.isReady = true;
    lane.deathsInRow = 0;
    try {
      for (const { stream } of lane.calls) this.#streams.restart(stream, lane.actor.run(stream.inputs));
    } catch (error) {
      this.#options.events.onFailure(error);
    }
    this.#endIdle();
    this.#options.events.onChange();
  }

  #hasProgressed(stream: RunningStream): void {
    const lane = this.#laneOf.get(stream);
    const call = lane?.calls.find((one) => one.stream === stream);
    if (lane === undefined || call === undefined) return;
    call.deathsInRow = 0;
    if (!stream.isEnded) return;
    lane.calls = lane.calls.filter((one) => one !== call);
    this.#grow();
    this.#endIdle();
  }

  /** `stream`: of the call that failed; undefined where the constructor did. */
  async #hasFailed(lane: Lane, actor: PoolActor, error: unknown, stream?: RunningStream): Promise<void> {
    const isOver = (): boolean => lane.actor !== actor || !this.#lanes.has(lane);
    if (isOver()) return;
    const hasDied = await actor.hasDied(error);
    if (isOver()) return;
    if (hasDied) this.#replace(lane, error);
    else if (stream !== undefined) this.#streams.fail(stream, error);
    else this.#options.events.onFailure(error);
  }

  #replace(lane: Lane, error: unknown): void {
    lane.deaths += 1;
    if (!lane.isReady) lane.deathsInRow += 1;
    else this.#blame(lane, error);
    // A lane whose last call was left out has ended.
    if (!this.#lanes.has(lane)) return;
    const failure = this.#tooManyDeaths(lane, error);
    if (failure !== undefined) {
      this.#options.events.onFailure(failure);
      return;
    }
    this.#renew(lane);
  }

  /** Counts a death for the calls that ran. Those of several rows or batches are cut, so that the deadly one is alone in the end; a deadly one is left out where the run allows it. */
  #blame(lane: Lane, error: unknown): void {
    for (const call of lane.calls.slice(0, this.#options.callsAtATime ?? 1)) {
      call.deaths += 1;
      call.deathsInRow += 1;
      const { stream } = call;
      const { maxTaskRetries, actors } = this.#options;
      const mayGoOn = stream.givenCount === 0 && !isBeyond(call.deaths, maxTaskRetries);
      const parts = mayGoOn ? partsAfterDeath(stream.inputs, actors.unitRows) : undefined;
      if (parts !== undefined) this.#cut(lane, call, parts);
      else {
        const failure = this.#deadly(call, error);
        if (failure !== undefined && this.#options.errored?.leavesOut(this.name, failure, true) === true) this.#streams.leaveOut(stream);
      }
    }
  }

  /** Makes a call of each part of a call. */
  #cut(lane: Lane, call: Call, parts: readonly BlockRef[]): void {
    const calls = this.#streams.split(call.stream, parts).map((stream): Call => {
      this.#laneOf.set(stream, lane);
      return { ...call, stream, deathsInRow: 0 };
    });
    lane.calls = lane.calls.flatMap((one) => (one === call ? calls : [one]));
  }

  #leastLane(): Lane | undefined {
    let least: Lane | undefined;
    for (const lane of this.#lanes) if (lane.calls.length < (least?.calls.length ?? Number.POSITIVE_INFINITY)) least = lane;
    return least;
  }

  /** In the order of the input, in which an actor that begins anew runs them. */
  #handOver({ calls }: Lane, heir: Lane): void {
    for (const { stream } of calls) {
      this.#streams.suspend(stream);
      this.#laneOf.set(stream, heir);
    }
    heir.calls = [...heir.calls, ...calls].toSorted((a, b) => a.place - b.place);
  }

  /** Starts another actor for the unchanged lane. */
  #renew(lane: Lane): void {
    lane.isReady = false;
    for (const { stream } of lane.calls) this.#streams.suspend(stream);
    this.#endActor(lane.actor, "now");
    this.#give(lane);
    lane.numCpus = this.#numCpus;
    this.#take(lane);
    const next = this.#startActor();
    if (next === undefined) return;
    lane.actor = next;
    this.#awaitReady(lane);
  }

  #tooManyDeaths(lane: Lane, cause: unknown): ActorDiedError | undefined {
    const { maxRestarts } = this.#options;
    if (maxRestarts === undefined && lane.deathsInRow >= ACTOR_DEATHS_MAX)
      return this.#died(`${times(lane.deathsInRow)} in a row, before its constructor had ended`, "See what ends the process.", cause);
    if (isBeyond(lane.deaths, maxRestarts)) return this.#died(times(lane.deaths), `maxRestarts is ${maxRestarts}.`, cause);
    for (const call of lane.calls) {
      const failure = this.#deadly(call, cause);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  /** The error of a call whose rows have ended too many actors. */
  #deadly({ deaths, deathsInRow, stream }: Call, cause: unknown): ActorDiedError | undefined {
    const { maxTaskRetries } = this.#options;
    const rows = `with the same rows (${rowsText(stream.inputs)})`;
    const hint = "See what ends the process; a row may be more than it can take.";
    if (maxTaskRetries === undefined && deathsInRow >= ACTOR_DEATHS_MAX)
      return this.#died(`${times(deathsInRow)} in a row ${rows}`, hint, cause);
    return isBeyond(deaths, maxTaskRetries)
      ? this.#died(`${times(deaths)} ${rows}`, `maxTaskRetries is ${maxTaskRetries}.`, cause)
      : undefined;
  }

  #died(what: string, hint: string, cause: unknown): ActorDiedError {
    const message = cause instanceof Error ? cause.message : String(cause);
    return new ActorDiedError(`${this.name}: its actor died ${what}: ${message}`, { reason: `its actor died ${what}`, hint, cause });
  }
}

/** Whether a limit of the user's is passed; -1 is none. */
function isBeyond(count: number, limit: number | undefined): boolean {
  return limit !== undefined && limit >= 0 && count > limit;
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
