/**
 * Plays whole episodes of environments with several agents, for evaluation.
 *
 * A separate runner has copies of the modules, and closes its environments afterwards. Connectors use their knowledge and learn nothing.
 */
import type { RunnerCallbackSource } from "../callbacks/runner-callbacks.ts";
import type { EnvSpec } from "../environments/registry.ts";
import type { BuiltModule, ModuleSpec } from "../modules/module-spec.ts";
import type { PolicyTable } from "../modules/policy-mapping.ts";
import { MultiAgentRunner } from "../runners/multi-agent-runner.ts";
import type { Played, Share } from "./play-episodes.ts";

interface GamesRequest {
  readonly env: EnvSpec;
  readonly envConfig: object;
  readonly isChecked: boolean;
  readonly built: ReadonlyMap<string, BuiltModule>;
  readonly policies: PolicyTable;
  readonly module: ModuleSpec;
  readonly explore: boolean;
  readonly callbacks: RunnerCallbackSource | undefined;
  readonly share: Share;
  readonly signal: AbortSignal | undefined;
}

export async function playGames({ built, explore, signal, share, ...spec }: GamesRequest): Promise<Played> {
  const { firstEnv, seed, episodes, steps } = share;
  const runner = new MultiAgentRunner({ ...spec, seed, firstEnv, numEnvs: episodes.length, workerIndex: 0 }, false);
  try {
    runner.copy(built);
    const count = episodes.reduce((sum, own) => sum + own, 0);
    const played = steps === undefined ? await runner.play(count, explore, signal) : await runner.sample({ steps, explore }, signal);
    const { returns, lengths, agents, logged = [] } = played;
    return { returns: Array.from(returns), lengths: Array.from(lengths), agents, steps: played.steps, logged };
  } finally {
    await runner.close();
  }
}
