/**
 * Plays whole episodes of environments with several agents, for evaluation.
 *
 * A separate runner has copies of the modules, and closes its environments afterwards. Connectors use their knowledge and learn nothing.
 */
import type { EnvSpec } from "../environments/registry.ts";
import type { BuiltModule, ModuleSpec } from "../modules/module-spec.ts";
import type { PolicyTable } from "../modules/policy-mapping.ts";
import { MultiAgentRunner } from "../runners/multi-agent-runner.ts";
import { episodeStatistics } from "./episode-window.ts";
import type { EvaluationResult } from "./train-result.ts";

interface GamesRequest {
  readonly env: EnvSpec;
  readonly envConfig: object;
  readonly numEnvs: number;
  readonly isChecked: boolean;
  readonly built: ReadonlyMap<string, BuiltModule>;
  readonly policies: PolicyTable;
  readonly module: ModuleSpec;
  readonly episodes: number;
  readonly explore: boolean;
  readonly seed: number;
  readonly signal: AbortSignal | undefined;
}

export async function playGames({ built, episodes, explore, signal, ...spec }: GamesRequest): Promise<EvaluationResult> {
  const runner = new MultiAgentRunner({ ...spec, workerIndex: 0, firstEnv: 0 }, false);
  try {
    runner.copy(built);
    const { steps, returns, lengths, agents } = await runner.play(episodes, explore, signal);
    const statistics = episodeStatistics({ returns: Array.from(returns), lengths: Array.from(lengths), agents });
    return { envRunners: { ...statistics, numEpisodes: episodes, numEnvStepsSampled: steps } };
  } finally {
    await runner.close();
  }
}
