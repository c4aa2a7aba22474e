/**
 * The callbacks that run where environments are stepped: in the algorithm's process, or in those of runners.
 *
 * Only a configuration that has one of them pays for episodes as objects. A callback that throws ends the call of the algorithm with its error.
 */
import type { Env, Info, VectorEnv } from "../environments/env.ts";
import type { MultiAgentEnv } from "../environments/multi-agent/multi-agent-env.ts";
import type { MetricsLogger } from "./metrics-logger.ts";

/** An episode under way, or one that has just ended. */
export interface EpisodeView {
  /** The place of the environment among all of the algorithm, and the number of the episode there. */
  readonly id: string;
  /** Steps so far. */
  readonly length: number;
  /** The sum of rewards so far, over all agents. */
  readonly return: number;
  /** The agents that have been there; `"default_agent"` where the environment has one agent. */
  readonly agents: readonly string[];
  agentReturn(agentId: string): number;
  /** A place for numbers of the user's, empty at the start of an episode. */
  readonly custom: Record<string, unknown>;
}

/** The environments of a runner: vectorized, a list of games, or one that stands for clients elsewhere and has spaces alone. */
export type RunnerEnvironment = VectorEnv | readonly MultiAgentEnv[] | Env;

/** A runner, as functions of users see it. */
export interface RunnerView {
  readonly env: RunnerEnvironment;
  /** 0 in the algorithm's process, from 1 in runners. */
  readonly workerIndex: number;
}

interface RunnerEvent extends RunnerView {
  readonly metricsLogger: MetricsLogger;
}

interface EpisodeEvent extends RunnerEvent {
  readonly episode: EpisodeView;
  /** The place of the environment in its runner. */
  readonly envIndex: number;
  /** The facts beside the last observation. */
  readonly info: Info;
}

export interface RunnerCallbacks {
  onEnvironmentCreated?(event: RunnerEvent): void | Promise<void>;
  onEpisodeCreated?(event: EpisodeEvent): void | Promise<void>;
  onEpisodeStart?(event: EpisodeEvent): void | Promise<void>;
  onEpisodeStep?(event: EpisodeEvent & { readonly reward: number }): void | Promise<void>;
  onEpisodeEnd?(event: EpisodeEvent & { readonly terminated: boolean }): void | Promise<void>;
  /** A runner has sampled its share of a batch. */
  onSampleEnd?(event: RunnerEvent & { readonly steps: number; readonly episodes: number }): void | Promise<void>;
}

/** Callbacks in the form that travels: functions, and a class of which each process makes one instance. */
export type RunnerCallbackSource = RunnerCallbacks & { readonly callbacksClass?: (new () => RunnerCallbacks) | undefined };

export const EPISODE_CALLBACKS = ["onEpisodeCreated", "onEpisodeStart", "onEpisodeStep", "onEpisodeEnd"] as const;
export const RUNNER_CALLBACKS: readonly (keyof RunnerCallbacks)[] = ["onEnvironmentCreated", "onSampleEnd", ...EPISODE_CALLBACKS];

/** The callbacks of a process. Functions come before the methods of the class. */
export function callbacksOf<C extends object>(source: C & { readonly callbacksClass?: (new () => C) | undefined }): C {
  const { callbacksClass, ...functions } = source;
  if (callbacksClass === undefined) return source;
  const given = Object.entries(functions).filter(([, value]) => value !== undefined);
  return Object.assign(new callbacksClass(), Object.fromEntries(given));
}
