/**
 * Checkpoints that an earlier version wrote, in `test/vectors/rl/checkpoints`: this version reads them, on any Node, and refuses damaged ones.
 *
 * `expected.json` has the weights and an action of each. A new format adds folders; the old ones stay. `SHOAL_RECORD=1` writes those that are missing.
 */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { Algorithm } from "../algorithms/algorithm.ts";
import { Policy } from "../algorithms/policy.ts";
import { PPOConfig } from "../algorithms/ppo.ts";
import type { AnyConfig } from "../config/algorithm-registry.ts";
import { MeanStdFilter } from "../connectors/mean-std-filter.ts";
import { DQNConfig } from "../off-policy/dqn.ts";
import { SACConfig } from "../off-policy/sac.ts";

const KEPT = join(import.meta.dirname, "../../../test/vectors/rl/checkpoints");
const folder = mkdtempSync(join(tmpdir(), "test-shoal-kept-"));
afterAll(() => rmSync(folder, { recursive: true }));

const buffer = { numStepsSampledBeforeLearningStarts: 20, trainBatchSizePerLearner: 8 };
const CONFIGS: Readonly<Record<string, AnyConfig>> = {
  "ppo-v2": new PPOConfig()
    .environment("StatelessCartPole")
    .envRunners({ numEnvsPerEnvRunner: 2, envToModuleConnector: () => new MeanStdFilter() })
    .training({ trainBatchSizePerLearner: 40, minibatchSize: 20, numEpochs: 1 })
    .rlModule({ modelConfig: { fcnetHiddens: [4], useLstm: true, lstmCellSize: 4, maxSeqLen: 5 } }),
  "dqn-v2": new DQNConfig()
    .environment("CartPole-v1")
    .training({ ...buffer, replayBufferConfig: { capacity: 40 } })
    .rlModule({ modelConfig: { fcnetHiddens: [4], headFcnetHiddens: [4] } })
    .checkpointing({ storeBufferInCheckpoints: true }),
  "sac-v2": new SACConfig()
    .environment("Pendulum-v1")
    .training({ ...buffer, replayBufferConfig: { type: "EpisodeReplayBuffer", capacity: 40 } })
    .rlModule({ modelConfig: { fcnetHiddens: [4] } })
    .checkpointing({ storeBufferInCheckpoints: true }),
};
const OBSERVATIONS: Readonly<Record<string, Float32Array>> = {
  "ppo-v2": Float32Array.of(0.1, 0.05),
  "dqn-v2": Float32Array.of(0.1, 0.2, 0.05, 0.1),
  "sac-v2": Float32Array.of(0.6, 0.8, 0.5),
};
const small = (config: AnyConfig): AnyConfig => config.copy().reporting({ minSampleTimestepsPerIteration: 40 }).debugging({ seed: 1 });

interface Expected {
  readonly weights: readonly number[];
  readonly action: readonly number[];
}

async function describe(name: string, algorithm: Algorithm): Promise<Expected> {
  const policy = await Policy.fromCheckpoint(join(KEPT, name));
  const answer = policy.computeAction<number | Float32Array | { action: number }>(OBSERVATIONS[name]);
  const action = typeof answer === "number" ? [answer] : "action" in answer ? [answer.action] : Array.from(answer);
  return { weights: Array.from(algorithm.getWeights()["default_policy"] ?? []), action };
}

test.each(Object.keys(CONFIGS))("%s has the weights, counters and buffer with which it was saved, and learns on", async (name) => {
  const path = join(KEPT, name);
  const config = small(CONFIGS[name] as AnyConfig);
  if (!existsSync(path) && process.env["SHOAL_RECORD"] === "1") {
    await using made = (await config.buildAlgo()) as Algorithm;
    await made.train();
    await made.save(path);
    writeFileSync(join(path, "expected.json"), JSON.stringify(await describe(name, made)));
  }
  const expected = JSON.parse(readFileSync(join(path, "expected.json"), "utf8")) as Expected;
  await using algorithm = await Algorithm.fromCheckpoint(path);
  expect(Array.from(algorithm.getWeights()["default_policy"] ?? [])).toEqual(expected.weights);
  // Kernels of other processors round otherwise.
  const { action } = await describe(name, algorithm);
  expect(action.map((number) => number.toFixed(3))).toEqual(expected.action.map((number) => number.toFixed(3)));
  const { trainingIteration, envRunners, learners } = await algorithm.train();
  expect([trainingIteration, envRunners.numEnvStepsSampledLifetime]).toEqual([2, 80]);
  // The buffer came back: learning does not wait for new steps.
  expect(learners["default_policy"]).toBeDefined();
});

type Json = Record<string, unknown>;

test.each<[string, (file: Json) => unknown, string]>([
  ["no object", () => [1], "is not of shoal/rl"],
  ["a foreign format", (file) => ({ ...file, format: "other" }), "is not of shoal/rl"],
  ["a later version", (file) => ({ ...file, formatVersion: 3 }), "Install a newer one"],
  ["a version that never was", (file) => ({ ...file, formatVersion: 0.5 }), "has format version 0.5"],
  ["no modules", (file) => ({ ...file, modules: undefined }), "modules is missing or no object"],
  [
    "modules without spaces",
    (file) => ({ ...file, modules: { default_policy: { connectors: [] } } }),
    "modules.default_policy.spaces is missing or no object",
  ],
  ["no progress", (file) => ({ ...file, progress: undefined }), "progress is missing or no object"],
  [
    "counters that are no numbers",
    (file) => ({ ...file, progress: { ...(file["progress"] as Json), envSteps: "9" } }),
    "progress.envSteps is missing or no number",
  ],
  ["no configuration", (file) => ({ ...file, config: undefined }), "config is missing or no object"],
  ["an unknown algorithm", (file) => ({ ...file, algorithm: "constructor" }), "its algorithm is constructor, which was not imported"],
])("a checkpoint with %s is refused by name", async (_, change, text) => {
  const path = mkdtempSync(join(folder, "damaged-"));
  cpSync(join(KEPT, "dqn-v2"), path, { recursive: true });
  const file = join(path, "algorithm.json");
  writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file, "utf8")) as Json)));
  await expect(Algorithm.fromCheckpoint(path)).rejects.toThrow(text);
  if (!text.includes("progress") && !text.includes("config is")) await expect(Policy.fromCheckpoint(path)).rejects.toThrow(text);
});

test.each([
  "algorithm.json",
  "environments.json",
  "modules/default_policy/weights.safetensors",
  "modules/default_policy/optimizer.safetensors",
])("a checkpoint whose %s was cut is refused with an RLError", async (name) => {
  const path = mkdtempSync(join(folder, "cut-"));
  cpSync(join(KEPT, "dqn-v2"), path, { recursive: true });
  const whole = readFileSync(join(path, name));
  for (const length of [0, 5, Math.floor(whole.length / 2), whole.length - 3]) {
    writeFileSync(join(path, name), whole.subarray(0, length));
    await expect(Algorithm.fromCheckpoint(path)).rejects.toMatchObject({ name: "RLError" });
  }
});
