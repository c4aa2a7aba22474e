/**
 * Plays whole episodes with a policy, for evaluation.
 *
 * Each environment plays its share, or all go on until enough steps have been taken. The environments are made for this alone and closed afterwards.
 * Draws of an environment come from its own stream, so they do not depend on the others.
 */
import { BREATH_MS } from "../limits.ts";
import { EpisodeEvents } from "../callbacks/episode-events.ts";
import type { LoggedValues } from "../callbacks/metrics-logger.ts";
import type { RunnerCallbackSource } from "../callbacks/runner-callbacks.ts";
import type { Info, VectorEnv, VectorStepResult } from "../environments/env.ts";
import { vectorChecks, vectorEnvOf } from "../environments/make-env.ts";
import type { EnvSpec } from "../environments/registry.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import type { AgentReturn } from "../runners/env-runner.ts";
import { columnLayout } from "../spaces/columns.ts";
import { EpisodeRecorder, type RecordedEpisode } from "../offline/episodes/episode-recorder.ts";
import { Random } from "../../tensor/index.ts";
import { Policy } from "./policy.ts";

/** The part of a runner in an evaluation. */
export interface Share {
  /** The place of the first environment among all of the evaluation. */
  readonly firstEnv: number;
  readonly seed: number;
  /** By environment. */
  readonly episodes: readonly number[];
  /** Steps at least, in place of episodes. */
  readonly steps: number | undefined;
}

/** The episodes that have ended, environment by environment. */
export interface Played {
  readonly returns: readonly number[];
  readonly lengths: readonly number[];
  readonly agents?: readonly (readonly AgentReturn[])[] | undefined;
  readonly steps: number;
  readonly logged: readonly LoggedValues[];
  /** The whole episodes, where they are recorded. */
  readonly recorded?: readonly RecordedEpisode[] | undefined;
}

interface EpisodesRequest {
  readonly env: EnvSpec;
  readonly envConfig: object;
  readonly isChecked: boolean;
  readonly built: BuiltModule;
  readonly explore: boolean;
  readonly callbacks: RunnerCallbackSource | undefined;
  /** Whether the episodes are wanted for `output`. */
  readonly isRecorded?: boolean | undefined;
  readonly share: Share;
  readonly signal: AbortSignal | undefined;
}

interface Episode {
  return: number;
  length: number;
}

export async function playEpisodes(request: EpisodesRequest): Promise<Played> {
  const { built, explore, signal, share } = request;
  const numEnvs = share.episodes.length;
  const env = vectorEnvOf(request.env, { ...request, numEnvs, workerIndex: 0, autoresetMode: "sameStep" });
  const checks = request.isChecked ? vectorChecks(request.env, env) : undefined;
  const { firstEnv, seed } = share;
  const randoms = share.episodes.map((_, index) => new Random(seed, "evaluation actions", firstEnv + index));
  const policy = new Policy(built, new Random(seed, "evaluation noise"));
  const observer = built.encoder.observe(numEnvs, { training: false });
  const obs = new Float32Array(numEnvs * built.encoder.size);
  const states = built.memory.allocate(numEnvs);
  const actions = columnLayout(env.actionSpace).allocate(numEnvs);
  const book = new EpisodeBook(env, share, { callbacks: request.callbacks, begin: (index) => built.memory.begin(states, index) });
  const recorder = request.isRecorded === true ? new EpisodeRecorder(env, built, numEnvs) : undefined;
  let breathedAt = performance.now();
  try {
    await book.events.created();
    const first = await env.reset({ seed: new Random(seed, "evaluation").integer(2 ** 31) + firstEnv });
    checks?.reset(first);
    observer.begin(first.observations, obs);
    recorder?.begin(first.observations);
    for (let index = 0; index < numEnvs; index += 1) book.events.begin(index, first.infos[index]);
    while (!book.isFull) {
      const isActing = (index: number): boolean => book.ended[index] === 0;
      const drawn = policy.act(obs, { rows: numEnvs, explore, into: actions, states, randoms, isActing });
      const result = await env.step(actions);
      checks?.step(result);
      const { observations, rewards, terminateds, truncateds } = result;
      const starts = env.autoresetMode === "nextStep" ? book.ended : terminateds.map((flag, index) => flag | (truncateds[index] as number));
      observer.step(observations, { actions: drawn, rewards, starts, finals: [] }, obs);
      const acted = { actions: drawn, envActions: actions, logp: undefined, explore };
      recorder?.take(result, acted, { ended: book.ended, isDone: (index) => book.isDone(index) });
      book.take(result);
      if (book.events.isWaiting) await book.events.settle();
      if (performance.now() - breathedAt < BREATH_MS) continue;
      await new Promise((resolve) => void setImmediate(resolve));
      signal?.throwIfAborted();
      breathedAt = performance.now();
    }
  } finally {
    await env.close?.();
  }
  return { ...(await book.finish()), recorded: recorder?.finished() };
}

/** Keeps account of the episodes of all environments. */
class EpisodeBook {
  readonly ended: Uint8Array;
  readonly events: EpisodeEvents;
  readonly #share: Share;
  readonly #isNextStep: boolean;
  readonly #begin: (index: number) => void;
  readonly #running: Episode[];
  readonly #over: Episode[][];
  #steps = 0;

  constructor(
    env: VectorEnv,
    share: Share,
    { callbacks, begin }: { callbacks: RunnerCallbackSource | undefined; begin: (index: number) => void },
  ) {
    const { length: numEnvs } = share.episodes;
    this.#share = share;
    this.#isNextStep = env.autoresetMode === "nextStep";
    this.#begin = begin;
    this.ended = new Uint8Array(numEnvs);
    this.#running = Array.from({ length: numEnvs }, () => ({ return: 0, length: 0 }));
    this.#over = Array.from({ length: numEnvs }, () => []);
    this.events = new EpisodeEvents({ callbacks, env, numEnvs, firstEnv: share.firstEnv, workerIndex: 0 });
  }

  /** Whether enough has been played. */
  get isFull(): boolean {
    const { steps, episodes } = this.#share;
    if (steps !== undefined) return this.#steps >= steps;
    return this.#over.every((own, index) => own.length >= (episodes[index] as number));
  }

  /** Whether an environment has played its share. */
  isDone(index: number): boolean {
    const { steps, episodes } = this.#share;
    return steps === undefined && (this.#over[index] as Episode[]).length >= (episodes[index] as number);
  }

  take({ rewards, terminateds, truncateds, infos }: VectorStepResult): void {
    const { steps, episodes } = this.#share;
    for (let index = 0; index < this.ended.length; index += 1) {
      const over = this.#over[index] as Episode[];
      const isDone = this.isDone(index);
      // The step that resets an environment is no step of an episode.
      if (this.ended[index] !== 0 || isDone) {
        if (!isDone) this.events.begin(index, infos[index]);
        this.ended[index] = 0;
        this.#begin(index);
        continue;
      }
      const episode = this.#running[index] as Episode;
      const reward = rewards[index] as number;
      this.#steps += 1;
      episode.return += reward;
      episode.length += 1;
      const isOver = terminateds[index] !== 0 || truncateds[index] !== 0;
      const info = isOver && !this.#isNextStep ? (infos[index]?.["finalInfo"] as Info | undefined) : infos[index];
      this.events.step(index, reward, info);
      if (!isOver) continue;
      this.events.end(index, terminateds[index] !== 0, info);
      this.#begin(index);
      over.push(episode);
      this.#running[index] = { return: 0, length: 0 };
      this.ended[index] = this.#isNextStep ? 1 : 0;
      const goesOn = steps !== undefined || over.length < (episodes[index] as number);
      if (!this.#isNextStep && goesOn) this.events.begin(index, infos[index]);
    }
  }

  async finish(): Promise<Played> {
    const over = this.#over.flat();
    const logged = await this.events.sampled({ steps: this.#steps, episodes: over.length });
    return { returns: over.map((each) => each.return), lengths: over.map(({ length }) => length), steps: this.#steps, logged };
  }
}
