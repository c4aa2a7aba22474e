/**
 * Turns the steps of a runner into callbacks: it follows the episodes of all environments, and calls at their events.
 *
 * Without callbacks of episodes it does nothing. Promises of callbacks are awaited between two steps.
 * Episodes that a checkpoint continues have no callbacks until they end.
 */
import { isThenable } from "../../core/internal.ts";
import { type Info, NO_INFO } from "../environments/env.ts";
import { type LoggedValues, ValueLog } from "./metrics-logger.ts";
import {
  callbacksOf,
  EPISODE_CALLBACKS,
  type EpisodeView,
  type RunnerCallbackSource,
  type RunnerCallbacks,
  type RunnerEnvironment,
} from "./runner-callbacks.ts";

/** The agent of environments that have one. */
const ONLY_AGENT = "default_agent";

class FollowedEpisode implements EpisodeView {
  readonly id: string;
  readonly custom: Record<string, unknown> = {};
  readonly #returns = new Map<string, number>();
  length = 0;

  constructor(id: string) {
    this.id = id;
  }

  get return(): number {
    let sum = 0;
    for (const earned of this.#returns.values()) sum += earned;
    return sum;
  }

  get agents(): readonly string[] {
    return Array.from(this.#returns.keys());
  }

  agentReturn(agentId: string): number {
    const earned = this.#returns.get(agentId);
    if (earned === undefined)
      throw new RangeError(`Cannot read a return: episode ${this.id} has no agent ${agentId}: it has ${this.agents.join(", ")}`);
    return earned;
  }

  earn(agentId: string, reward: number): void {
    this.#returns.set(agentId, (this.#returns.get(agentId) ?? 0) + reward);
  }
}

/** The rewards of a step by agent; one number where there is one agent. */
type StepRewards = number | Iterable<readonly [agentId: string, reward: number]>;

interface EventsSetup {
  readonly callbacks?: RunnerCallbackSource | undefined;
  readonly env: RunnerEnvironment;
  readonly numEnvs: number;
  readonly firstEnv: number;
  readonly workerIndex: number;
}

export class EpisodeEvents {
  readonly #callbacks: RunnerCallbacks;
  readonly #log = new ValueLog();
  readonly #env: RunnerEnvironment;
  readonly #firstEnv: number;
  readonly #workerIndex: number;
  readonly #episodes: (FollowedEpisode | undefined)[];
  readonly #counts: number[];
  #waiting: PromiseLike<void>[] = [];
  #isCreated = false;
  /** Whether somebody wants episodes as objects. */
  readonly isFollowing: boolean;

  constructor({ callbacks = {}, env, numEnvs, firstEnv, workerIndex }: EventsSetup) {
    this.#callbacks = callbacksOf(callbacks);
    this.#env = env;
    this.#firstEnv = firstEnv;
    this.#workerIndex = workerIndex;
    this.isFollowing = EPISODE_CALLBACKS.some((name) => this.#callbacks[name] !== undefined);
    this.#episodes = Array.from({ length: numEnvs }, () => undefined);
    this.#counts = Array.from({ length: numEnvs }, () => 0);
  }

  /** The environments have been made. */
  async created(): Promise<void> {
    if (this.#isCreated) return;
    this.#isCreated = true;
    await this.#callbacks.onEnvironmentCreated?.(this.#event);
  }

  /** An episode begins. */
  begin(envIndex: number, info: Info | undefined): void {
    if (!this.isFollowing) return;
    const count = this.#counts[envIndex] as number;
    const episode = new FollowedEpisode(`${this.#firstEnv + envIndex}-${count}`);
    this.#counts[envIndex] = count + 1;
    this.#episodes[envIndex] = episode;
    const event = { ...this.#event, episode, envIndex, info: info ?? NO_INFO };
    this.#keep(this.#callbacks.onEpisodeCreated?.(event));
    this.#keep(this.#callbacks.onEpisodeStart?.(event));
  }

  /** An environment was stepped. An episode that a checkpoint goes on with has no object yet. */
  step(envIndex: number, rewards: StepRewards, info: Info | undefined): void {
    if (!this.isFollowing) return;
    const episode = this.#episodes[envIndex];
    if (episode === undefined) return;
    let reward = 0;
    for (const [agentId, earned] of typeof rewards === "number" ? [[ONLY_AGENT, rewards] as const] : rewards) {
      episode.earn(agentId, earned);
      reward += earned;
    }
    episode.length += 1;
    this.#keep(this.#callbacks.onEpisodeStep?.({ ...this.#event, episode, envIndex, reward, info: info ?? NO_INFO }));
  }

  end(envIndex: number, terminated: boolean, info: Info | undefined): void {
    const episode = this.#episodes[envIndex];
    if (!this.isFollowing || episode === undefined) return;
    this.#episodes[envIndex] = undefined;
    this.#keep(this.#callbacks.onEpisodeEnd?.({ ...this.#event, episode, envIndex, terminated, info: info ?? NO_INFO }));
  }

  /** Waits for callbacks that returned promises. */
  async settle(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    await Promise.all(waiting);
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** A sample is complete. @returns the logged values */
  async sampled(counts: { readonly steps: number; readonly episodes: number }): Promise<LoggedValues[]> {
    await this.#callbacks.onSampleEnd?.({ ...this.#event, ...counts });
    await this.settle();
    return this.#log.take();
  }

  get #event(): { env: RunnerEnvironment; workerIndex: number; metricsLogger: ValueLog } {
    return { env: this.#env, workerIndex: this.#workerIndex, metricsLogger: this.#log };
  }

  #keep(outcome: void | Promise<void>): void {
    if (!isThenable(outcome)) return;
    // Looked at by settle(); a rejection before that is no unhandled one.
    Promise.resolve(outcome).catch(() => {});
    this.#waiting.push(outcome);
  }
}
