/** Configurations of `shoal/rl` as trainables of Tune: trials with processes of their own, checkpoints, and another configuration in the middle. */
import { actors } from "shoal";
import { Box, Discrete, type Env, MeanStdFilter, Policy, PPOConfig, PPOLearner } from "shoal/rl";
import { choice, gridSearch, PopulationBasedTraining, Tuner } from "shoal/tune";
import { expect, test } from "vitest";
import { until, useFolder, useSession } from "./session.ts";

useSession({ numCpus: 4, logToDriver: false });
const folder = useFolder();

class Corridor implements Env<Float32Array, number> {
  observationSpace = new Box({ low: 0, high: 100, shape: [1] });
  actionSpace = new Discrete(2);
  at = 0;
  length: number;
  constructor({ length }: { length: number }) {
    this.length = length;
  }
  reset() {
    this.at = 0;
    return { observation: Float32Array.of(0) };
  }
  step(action: number) {
    this.at = Math.max(0, this.at + (action === 1 ? 1 : -1));
    const terminated = this.at >= this.length;
    return { observation: Float32Array.of(this.at), reward: terminated ? 1 : -0.01, terminated, truncated: false };
  }
}

class OwnLearner extends PPOLearner {}

const small = () =>
  new PPOConfig()
    .environment(Corridor, { envConfig: { length: 3 } })
    .envRunners({ numEnvsPerEnvRunner: 2, envToModuleConnector: () => new MeanStdFilter() })
    .training({ trainBatchSizePerLearner: 64, minibatchSize: 32, numEpochs: 1 })
    .rlModule({ modelConfig: { fcnetHiddens: [8] } })
    .learners({ learnerClass: OwnLearner })
    .debugging({ seed: 1 });

test("trials search the domains of a configuration, with an environment, connectors, a learner and runners of their own", async () => {
  const config = small()
    .environment(Corridor, { envConfig: { length: gridSearch([3, 20]) } })
    .envRunners({ numEnvRunners: 1 })
    .training({ lr: choice([1e-3]) })
    .evaluation({ evaluationInterval: 2, evaluationDuration: 1, evaluationConfig: { envConfig: { length: 2 }, explore: true } });
  const results = await new Tuner(config, {
    tuneConfig: { metric: "evaluation/envRunners/episodeLenMean", mode: "min", maxConcurrentTrials: 1 },
    runConfig: { storagePath: folder, name: "search", stop: { trainingIteration: 2 }, checkpointConfig: { checkpointAtEnd: true } },
  }).fit();
  expect(results.errors).toEqual([]);
  expect(Array.from(results, (result) => result.config)).toEqual(
    [3, 20].map((length) => ({ environment: { envConfig: { length } }, training: { lr: 1e-3 } })),
  );
  // Iterations without the numbers of a search are not reported: the evaluation comes with the second, and the end of a long corridor later.
  const [short, long] = Array.from(results, ({ metrics }) => metrics);
  expect(short?.envRunners.numEnvStepsSampledLifetime).toBe(3 * 64);
  expect(long?.envRunners.episodeLenMean).toBeGreaterThanOrEqual(20);
  expect(long?.envRunners.numEnvStepsSampledLifetime).toBeGreaterThan(3 * 64);
  const { checkpoint } = results.getBestResult();
  const policy = await Policy.fromCheckpoint(checkpoint?.path ?? "");
  expect([0, 1]).toContain(policy.computeAction(Float32Array.of(1)));
  await until(async () => (await actors()).length === 0, "the ends of all trials and runners");
});

test("population based training gives an algorithm the weights of another one, and other values of training", async () => {
  const config = small().environment(Corridor, { envConfig: { length: 3 } });
  const results = await new Tuner(config.training({ lr: choice([1e-3, 2e-3]) }), {
    tuneConfig: {
      metric: "envRunners/episodeReturnMean",
      mode: "max",
      numSamples: 2,
      scheduler: new PopulationBasedTraining({
        timeAttr: "trainingIteration",
        perturbationInterval: 2,
        quantileFraction: 0.5,
        resampleProbability: 0,
        hyperparamMutations: { training: { lr: [1e-3, 2e-3, 4e-3] } },
        seed: 1,
      }),
    },
    runConfig: { storagePath: folder, name: "population", stop: { trainingIteration: 8 } },
  }).fit();
  expect(results.errors).toEqual([]);
  const rates = Array.from(results, ({ metrics }) => metrics?.learners["default_policy"]?.["learningRate"]);
  const given = Array.from(results, ({ config: { training } }: { config: { training?: { lr?: number } } }) => training?.lr);
  expect(rates).toEqual(given);
});

test.each<[string, object, string]>([
  [
    "a value that the algorithm refuses",
    { training: { minibatchSize: choice([1000]) } },
    "minibatchSize is at most trainBatchSizePerLearner",
  ],
  ["an unknown part", { trainig: { lr: 1 } }, "Did you mean training?"],
  ["an unknown option", { training: { learningRate: 1 } }, "learningRate"],
  ["an option without its part", { lr: 1e-3 }, "by part"],
])("%s of paramSpace is the error of its trial, and named", async (_, paramSpace, text) => {
  const run = { storagePath: folder, stop: { trainingIteration: 1 } };
  const results = await new Tuner(small(), { paramSpace: paramSpace as never, runConfig: run }).fit();
  expect(results.errors.map(String)).toEqual([expect.stringContaining(text)]);
});

test("a configuration with domains builds no algorithm by itself", async () => {
  await expect(
    small()
      .training({ lr: choice([1e-3]) })
      .buildAlgo(),
  ).rejects.toThrow("training.lr is a domain of Tune");
  // A plain value takes the domain's place, and the other way round.
  const plain = small()
    .training({ lr: choice([1e-3]) })
    .training({ lr: 1e-3 });
  expect(() => plain.validate()).not.toThrow();
  expect(() =>
    plain
      .copy()
      .training({ lr: choice([1e-3]) })
      .copy()
      .validate(),
  ).toThrow("training.lr");
});
