/**
 * The last episodes, and their statistics.
 *
 * A mean is absent until an episode has ended. An agent's mean is over the episodes in which it was there.
 * The window is a part of checkpoints, so that a restored run has the same results.
 */
import type { AgentReturn, Sample } from "../runners/env-runner.ts";
import type { EpisodeStatistics } from "./train-result.ts";

/** Episodes by column. */
interface Episodes {
  readonly returns: readonly number[];
  readonly lengths: readonly number[];
  /** By episode; empty where the environment has one agent. */
  readonly agents?: readonly (readonly AgentReturn[])[] | undefined;
}

export class EpisodeWindow {
  readonly #size: number;
  #returns: readonly number[] = [];
  #lengths: readonly number[] = [];
  #agents: readonly (readonly AgentReturn[])[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  add({ returns, lengths, agents = [] }: Pick<Sample, "returns" | "lengths" | "agents">): void {
    if (returns.length === 0) return;
    this.#returns = [...this.#returns, ...returns].slice(-this.#size);
    this.#lengths = [...this.#lengths, ...lengths].slice(-this.#size);
    this.#agents = [...this.#agents, ...agents].slice(-this.#size);
  }

  get statistics(): EpisodeStatistics {
    return episodeStatistics(this.getState());
  }

  getState(): Episodes {
    return { returns: this.#returns, lengths: this.#lengths, ...(this.#agents.length === 0 ? {} : { agents: this.#agents }) };
  }

  setState({ returns, lengths, agents = [] }: Episodes): void {
    this.#returns = returns;
    this.#lengths = lengths;
    this.#agents = agents;
  }
}

/** The mean, least and largest of episodes, and the means of their agents. */
export function episodeStatistics({ returns, lengths, agents = [] }: Episodes): EpisodeStatistics {
  if (returns.length === 0) return {};
  return {
    episodeReturnMean: mean(returns),
    episodeReturnMin: Math.min(...returns),
    episodeReturnMax: Math.max(...returns),
    episodeLenMean: mean(lengths),
    ...(agents.length === 0
      ? {}
      : {
          agentEpisodeReturnsMean: meansBy(agents, ([agent]) => agent),
          moduleEpisodeReturnsMean: meansBy(agents, ([, moduleId]) => moduleId),
        }),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Means over episodes of the sums by key, over the episodes that have the key. */
function meansBy(episodes: readonly (readonly AgentReturn[])[], keyOf: (earned: AgentReturn) => string): Record<string, number> {
  const sums = new Map<string, { sum: number; episodes: number }>();
  for (const episode of episodes) {
    const seen = new Set<string>();
    for (const each of episode) {
      const key = keyOf(each);
      const known = sums.get(key) ?? { sum: 0, episodes: 0 };
      sums.set(key, { sum: known.sum + each[2], episodes: known.episodes + (seen.has(key) ? 0 : 1) });
      seen.add(key);
    }
  }
  return Object.fromEntries(Array.from(sums, ([key, { sum, episodes: count }]) => [key, sum / count]));
}
