/**
 * Plays whole episodes with a policy, for evaluation.
 *
 * Each environment plays its share, so that short episodes are not counted more often than long ones. The environments are made for this alone and closed afterwards.
 */
import { BREATH_MS } from "../limits.ts";
import { vectorEnvOf } from "../environments/make-env.ts";
import type { EnvSpec } from "../environments/registry.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import { columnLayout } from "../spaces/columns.ts";
import { Random } from "../../tensor/index.ts";
import { Policy } from "./policy.ts";
import { episodeStatistics } from "./episode-window.ts";
import type { EvaluationResult } from "./train-result.ts";

interface EpisodesRequest {
  readonly env: EnvSpec;
  readonly envConfig: object;
  readonly numEnvs: number;
  readonly isChecked: boolean;
  readonly built: BuiltModule;
  readonly episodes: number;
  readonly explore: boolean;
  readonly seed: number;
  readonly signal: AbortSignal | undefined;
}

export async function playEpisodes(request: EpisodesRequest): Promise<EvaluationResult> {
  const { built, episodes, explore, seed, signal, numEnvs } = request;
  const env = vectorEnvOf(request.env, { ...request, workerIndex: 0, autoresetMode: "sameStep" });
  const policy = new Policy(built, new Random(seed, "evaluation actions"));
  const observer = built.encoder.observe(numEnvs, { training: false });
  const obs = new Float32Array(numEnvs * built.encoder.size);
  const states = built.memory.allocate(numEnvs);
  const actions = columnLayout(env.actionSpace).allocate(numEnvs);
  const shares = Array.from({ length: numEnvs }, (_, index) => Math.floor(episodes / numEnvs) + (index < episodes % numEnvs ? 1 : 0));
  const running = { returns: new Float64Array(numEnvs), lengths: new Int32Array(numEnvs), ended: new Uint8Array(numEnvs) };
  const over: { returns: number[]; lengths: number[] } = { returns: [], lengths: [] };
  let steps = 0;
  let breathedAt = performance.now();
  try {
    observer.begin((await env.reset({ seed: new Random(seed, "evaluation").integer(2 ** 31) })).observations, obs);
    while (over.returns.length < episodes) {
      const drawn = policy.act(obs, { rows: numEnvs, explore, into: actions, states, isActing: (index) => running.ended[index] === 0 });
      const { observations, rewards, terminateds, truncateds } = await env.step(actions);
      const starts =
        env.autoresetMode === "nextStep" ? running.ended : terminateds.map((flag, index) => flag | (truncateds[index] as number));
      observer.step(observations, { actions: drawn, rewards, starts, finals: [] }, obs);
      for (let index = 0; index < numEnvs; index += 1) {
        // The step that resets an environment is no step of an episode.
        if (running.ended[index] !== 0 || shares[index] === 0) {
          running.ended[index] = 0;
          built.memory.begin(states, index);
          continue;
        }
        steps += 1;
        running.returns[index] = (running.returns[index] as number) + (rewards[index] as number);
        running.lengths[index] = (running.lengths[index] as number) + 1;
        if (terminateds[index] === 0 && truncateds[index] === 0) continue;
        built.memory.begin(states, index);
        over.returns.push(running.returns[index] as number);
        over.lengths.push(running.lengths[index] as number);
        shares[index] = (shares[index] as number) - 1;
        [running.returns[index], running.lengths[index], running.ended[index]] = [0, 0, env.autoresetMode === "nextStep" ? 1 : 0];
      }
      if (performance.now() - breathedAt < BREATH_MS) continue;
      await new Promise((resolve) => void setImmediate(resolve));
      signal?.throwIfAborted();
      breathedAt = performance.now();
    }
  } finally {
    await env.close?.();
  }
  return { envRunners: { ...episodeStatistics(over), numEpisodes: episodes, numEnvStepsSampled: steps } };
}
