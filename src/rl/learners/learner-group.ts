/**
 * Learners in processes that share each batch. All have the same weights after every update.
 *
 * The algorithm's own learners learn nothing: they get the weights and the numbers of an update, so that everything else sees one learner. When a process ends, all
 * learners start again from the state after the last iteration, and learn from the batch again.
 */
import { type ActorHandle, kill, ready, remote, terminate } from "../../core/index.ts";
import { messageOf, nameUnsent } from "../../core/internal.ts";
import { CollectiveError } from "../../util/index.ts";
import { RLError } from "../errors.ts";
import { FAILURES_IN_A_ROW_MAX, LEAVE_WITHIN_MS } from "../limits.ts";
import { isOfProcess, userError } from "../runners/runner-group.ts";
import type { Fragment } from "../sequences/fragment.ts";
import { splitFragment } from "../sequences/split-fragment.ts";
import type { Learner } from "./learner.ts";
import { LearnerActor, type LearnerSpec, type Learnt, type ModuleLearning } from "./learner-actor.ts";

interface GroupOptions {
  readonly numLearners: number;
  readonly numCpusPerLearner: number;
  readonly spec: LearnerSpec;
  /** The algorithm's own learners, by module. */
  readonly learners: ReadonlyMap<string, Learner>;
}

type States = Record<string, ModuleLearning>;

export class LearnerGroup {
  #options: GroupOptions;
  #handles: ActorHandle<LearnerActor>[] = [];
  /** The states after the last iteration. */
  #kept: States | undefined;
  #restarts = 0;
  #isStopped = false;

  constructor(options: GroupOptions) {
    this.#options = options;
    this.#start();
  }

  /** Times at which all learners were started again. */
  get restarts(): number {
    return this.#restarts;
  }

  #start(): void {
    const { numLearners: worldSize, numCpusPerLearner: numCpus, spec } = this.#options;
    const groupName = `learners ${crypto.randomUUID()}`;
    try {
      this.#handles = Array.from({ length: worldSize }, (_, rank) =>
        remote(LearnerActor, { numCpus }).remote(spec, { rank, worldSize, groupName }),
      );
    } catch (error) {
      throw nameUnsent(error, () => "the module or the learner");
    }
  }

  /** Waits until the learners have met. @throws the error of a module or learner that could not be made */
  async ready(): Promise<void> {
    try {
      await Promise.all(this.#handles.map(async (handle) => await ready(handle)));
      await Promise.all(this.#handles.map(async (handle) => await handle.join.remote()));
    } catch (error) {
      throw userError(error);
    }
  }

  /** Learns from a batch of each module. */
  async update(
    batch: ReadonlyMap<string, Fragment>,
    { envSteps, signal }: { envSteps: number; signal: AbortSignal | undefined },
  ): Promise<void> {
    const shards = this.#shardsOf(batch);
    for (let failures = 0; ; ) {
      signal?.throwIfAborted();
      try {
        if (this.#handles.length === 0) await this.#startAgain();
        this.#take(await this.#updateAll(shards, envSteps, signal));
        return;
      } catch (error) {
        await this.#end();
        signal?.throwIfAborted();
        if (!isOfProcess(error) && !(error instanceof CollectiveError)) throw userError(error);
        failures += 1;
        if (this.#isStopped || failures >= FAILURES_IN_A_ROW_MAX)
          throw new RLError(`Cannot learn: a learner ended, ${failures} times in a row: ${messageOf(error)}`, { cause: error });
      }
    }
  }

  #shardsOf(batch: ReadonlyMap<string, Fragment>): Record<string, Fragment>[] {
    const { numLearners, learners } = this.#options;
    const shards: Record<string, Fragment>[] = Array.from({ length: numLearners }, () => ({}));
    for (const [id, fragment] of batch) {
      const { encoder, memory } = (learners.get(id) as Learner).built;
      const options = { shards: numLearners, obsSize: encoder.size, stateSize: memory.size, maxSeqLen: memory.maxSeqLen };
      for (const [rank, shard] of splitFragment(fragment, options).entries()) (shards[rank] as Record<string, Fragment>)[id] = shard;
    }
    return shards;
  }

  async #updateAll(shards: readonly Record<string, Fragment>[], envSteps: number, signal: AbortSignal | undefined): Promise<Learnt[]> {
    const options = signal === undefined ? {} : { signal };
    const updates = this.#handles.map(async (handle, rank) => await handle.update.options(options).remote(shards[rank] ?? {}, envSteps));
    try {
      return await Promise.all(updates);
    } catch (error) {
      // A learner that waited for a dead one says less than the death itself.
      const all = error instanceof CollectiveError ? [] : [error];
      if (all.length === 0) for (const each of await Promise.allSettled(updates)) if (each.status === "rejected") all.push(each.reason);
      throw all.find((each) => !(each instanceof CollectiveError)) ?? error;
    }
  }

  /** Takes the weights of the first learner, and the means of the numbers of all. */
  #take(learnt: readonly Learnt[]): void {
    const [first] = learnt as [Learnt];
    for (const [id, weights] of Object.entries(first.weights)) {
      const learner = this.#options.learners.get(id) as Learner;
      learner.built.module.parameters.data.set(weights);
      learner.take(learnt.map(({ results }) => results[id] ?? {}));
    }
  }

  async #startAgain(): Promise<void> {
    this.#restarts += 1;
    this.#start();
    await this.ready();
    await this.#setAll(this.kept);
  }

  async #setAll(states: States): Promise<void> {
    await Promise.all(this.#handles.map(async (handle) => await handle.setState.remote(states)));
  }

  /** Keeps the states of today, for checkpoints and for learners that start again. Any learner that lives has them. */
  async keep(): Promise<void> {
    for (const handle of this.#handles) {
      try {
        this.#kept = await handle.getState.remote();
        return;
      } catch (error) {
        if (!isOfProcess(error)) throw error;
      }
    }
  }

  /** The states after the last iteration. */
  get kept(): Readonly<States> {
    return this.#kept ?? this.#ownStates();
  }

  /** Has all learners go on from the states of the algorithm's own. */
  async setState(): Promise<void> {
    if (this.#handles.length === 0) await this.#startAgain();
    const states = this.#ownStates();
    await this.#setAll(states);
    this.#kept = states;
  }

  /** Goes on with other modules, in new processes, from the states of the algorithm's own learners. */
  async setModules({ spec, learners }: Pick<GroupOptions, "spec" | "learners">): Promise<void> {
    await this.#end();
    this.#options = { ...this.#options, spec, learners };
    this.#kept = this.#ownStates();
    this.#start();
    await this.ready();
    await this.#setAll(this.#kept);
  }

  #ownStates(): States {
    const states = Array.from(this.#options.learners, ([id, learner]) => [
      id,
      { weights: learner.built.module.parameters.data.slice(), state: learner.getState() },
    ]);
    return Object.fromEntries(states) as States;
  }

  async #end(): Promise<void> {
    const handles = this.#handles;
    this.#handles = [];
    await Promise.all(handles.map(async (handle) => await kill(handle).catch(() => {})));
  }

  /** Ends all learners. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const handles = this.#handles;
    this.#handles = [];
    await Promise.all(
      handles.map(async (handle) => {
        try {
          await handle.close.options({ timeoutMs: LEAVE_WITHIN_MS }).remote();
          await terminate(handle);
        } catch {
          await kill(handle).catch(() => {});
        }
      }),
    );
  }
}
