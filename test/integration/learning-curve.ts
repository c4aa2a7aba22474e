/** Results of a few iterations of training, for tests that compare curves. */
import type { AlgorithmConfig, TrainResult } from "shoal/rl";

/** Returns the parts of a result that do not depend on the clock. */
export function timeless({ envRunners, learners, trainingIteration }: TrainResult): unknown {
  return { envRunners, learners, trainingIteration };
}

export async function curveOf(config: AlgorithmConfig, iterations: number): Promise<unknown[]> {
  await using algorithm = await config.buildAlgo();
  const results: unknown[] = [];
  while (results.length < iterations) results.push(timeless(await algorithm.train()));
  return results;
}
