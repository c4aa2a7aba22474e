/**
 * Evaluations of an algorithm: how episodes are shared out, and the runners that play them.
 *
 * Each environment plays its share, so that short episodes are not counted more often than long ones. Shares and random streams belong to the place of an environment among all, so an
 * evaluation gives the same numbers however many runners play it. A runner that dies is replaced, and the new one plays its share.
 */
import { type ActorHandle, kill, type ObjectRef, put, ready, remote, terminate } from "../../core/index.ts";
import { describeValue, isPlainObject, messageOf, nameUnsent } from "../../core/internal.ts";
import { LoggedMetrics } from "../callbacks/metrics-logger.ts";
import { RLError } from "../errors.ts";
import { FAILURES_IN_A_ROW_MAX } from "../limits.ts";
import { isOfProcess, userError } from "../runners/runner-group.ts";
import { episodeStatistics } from "./episode-window.ts";
import { type EvaluatedState, EvaluationActor, type EvaluationBase, type EvaluationWays } from "./evaluation-actor.ts";
import type { Played, Share } from "./play-episodes.ts";
import type { EvaluationResult } from "./train-result.ts";

interface SharedOut {
  readonly duration: number;
  readonly unit: "episodes" | "timesteps";
  readonly runners: number;
  readonly envsPerRunner: number;
  readonly seed: number;
}

/** The shares of all runners that have something to play. */
export function sharesOf({ duration, unit, runners, envsPerRunner, seed }: SharedOut): Share[] {
  const envs = runners * envsPerRunner;
  const shares = Array.from({ length: runners }, (_, place): Share => {
    const firstEnv = place * envsPerRunner;
    const episodes = Array.from(
      { length: envsPerRunner },
      (_none, index) => Math.floor(duration / envs) + (firstEnv + index < duration % envs ? 1 : 0),
    );
    if (unit === "episodes") return { firstEnv, seed, episodes: episodes.filter((count) => count > 0), steps: undefined };
    return { firstEnv, seed, episodes: episodes.map(() => 0), steps: Math.ceil(duration / runners) };
  });
  return shares.filter(({ episodes }) => episodes.length > 0);
}

/** Joins the episodes of all runners. */
export function evaluationResult(played: readonly Played[]): EvaluationResult {
  const returns = played.flatMap((each) => each.returns);
  const logged = new LoggedMetrics();
  for (const each of played) logged.add(each.logged);
  const agents = played.flatMap((each) => each.agents ?? []);
  const statistics = episodeStatistics({ returns, lengths: played.flatMap(({ lengths }) => lengths), agents });
  const numEnvStepsSampled = played.reduce((sum, { steps }) => sum + steps, 0);
  return { envRunners: { ...logged.take(), ...statistics, numEpisodes: returns.length, numEnvStepsSampled } };
}

/** @throws RLError where the function of a user returned no result of an evaluation */
export function checkedResult(result: unknown): EvaluationResult {
  if (isPlainObject(result) && isPlainObject(result["envRunners"]) && typeof result["envRunners"]["numEpisodes"] === "number")
    return result as unknown as EvaluationResult;
  throw new RLError(
    `Cannot evaluate: customEvaluationFunction returns a result such as that of envRunners.evaluate(), { envRunners: { numEpisodes, … } }: received ${describeValue(result)}`,
  );
}

interface RunnersOptions {
  readonly count: number;
  readonly numCpus: number;
  readonly timeoutMs: number;
  readonly spec: EvaluationBase;
}

interface PlayOptions {
  readonly ways: EvaluationWays;
  readonly signal: AbortSignal | undefined;
}

/** The runners of evaluations in processes. */
export class EvaluationRunners {
  #options: RunnersOptions;
  readonly #handles: ActorHandle<EvaluationActor>[];
  #restarts = 0;
  #isStopped = false;

  constructor(options: RunnersOptions) {
    this.#options = options;
    this.#handles = Array.from({ length: options.count }, () => this.#start());
  }

  get restarts(): number {
    return this.#restarts;
  }

  #start(): ActorHandle<EvaluationActor> {
    try {
      return remote(EvaluationActor, { numCpus: this.#options.numCpus }).remote(this.#options.spec);
    } catch (error) {
      throw nameUnsent(error, () => "the environment, the module or the callbacks");
    }
  }

  /** Waits until all runners have made their modules. @throws the error of the first that could not */
  async ready(): Promise<void> {
    try {
      await Promise.all(this.#handles.map(async (handle) => await ready(handle)));
    } catch (error) {
      throw userError(error);
    }
  }

  /** Lets all runners evaluate other policies. */
  async setSpec(spec: EvaluationBase): Promise<void> {
    this.#options = { ...this.#options, spec };
    const { timeoutMs } = this.#options;
    await Promise.all(
      this.#handles.map(async (handle, place) => {
        try {
          await handle.setSpec.options({ timeoutMs }).remote(spec);
        } catch (error) {
          if (!isOfProcess(error)) throw userError(error);
          await this.#replace(place);
        }
      }),
    );
  }

  /** Starts another runner in the place of one that is lost. */
  async #replace(place: number): Promise<void> {
    await kill(this.#handles[place] as ActorHandle<EvaluationActor>).catch(() => {});
    this.#handles[place] = this.#start();
    this.#restarts += 1;
  }

  async play(state: EvaluatedState, shares: readonly Share[], { ways, signal }: PlayOptions): Promise<Played[]> {
    signal?.throwIfAborted();
    const reference = put(state);
    try {
      return await Promise.all(shares.map((share, place) => this.#playOn(place, reference, { share, ways, signal })));
    } finally {
      reference[Symbol.dispose]();
    }
  }

  async #playOn(place: number, state: ObjectRef<EvaluatedState>, { share, ways, signal }: PlayOptions & { share: Share }): Promise<Played> {
    const limits = { timeoutMs: this.#options.timeoutMs, ...(signal === undefined ? {} : { signal }) };
    for (let failures = 1; ; failures += 1) {
      const handle = this.#handles[place] as ActorHandle<EvaluationActor>;
      try {
        return await handle.play.options(limits).remote(state, share, ways);
      } catch (error) {
        signal?.throwIfAborted();
        if (!isOfProcess(error)) throw userError(error);
        if (this.#isStopped || failures >= FAILURES_IN_A_ROW_MAX) {
          await kill(handle).catch(() => {});
          throw new RLError(`Cannot evaluate: evaluation runner ${place + 1} ended: ${messageOf(error)}`, { cause: error });
        }
        await this.#replace(place);
      }
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(
      this.#handles.map(async (handle) => {
        await terminate(handle).catch(() => kill(handle).catch(() => {}));
      }),
    );
  }
}
