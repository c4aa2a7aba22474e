/** External environments from end to end: CartPole in clients elsewhere learns, and runners in processes listen, die and listen again. */
import { createServer, type AddressInfo } from "node:net";
import { actors, init, shutdown } from "shoal";
import { Box, Discrete, externalEnv, type ExternalEnvOptions, makeEnv, PPOConfig } from "shoal/rl";
import { ExternalClient } from "shoal/rl-client";
import { afterAll, expect, test } from "vitest";

afterAll(shutdown);

const LIMITS = [4.8, Number.POSITIVE_INFINITY, 0.418_879_02, Number.POSITIVE_INFINITY];
const SPACES = { observationSpace: new Box({ low: LIMITS.map((limit) => -limit), high: LIMITS }), actionSpace: new Discrete(2) };

function configOf(options: Partial<ExternalEnvOptions>): PPOConfig {
  return new PPOConfig()
    .environment(externalEnv({ ...SPACES, ...options }))
    .training({ lr: 3e-4, trainBatchSizePerLearner: 1000, minibatchSize: 128, numEpochs: 6 })
    .rlModule({ modelConfig: { fcnetHiddens: [64, 64], vfShareLayers: false } })
    .debugging({ seed: 1 });
}

/** Plays CartPole in clients until `stop`. @returns their end */
function players(url: string, count: number): { stop(): Promise<void> } {
  const over = new AbortController();
  const playing = Array.from({ length: count }, async (_, seed) => {
    using client = await ExternalClient.connect(url, { seed });
    await client.play(await makeEnv("CartPole-v1"), { seed, signal: over.signal });
  });
  return {
    async stop() {
      over.abort(new Error("over"));
      for (const ended of await Promise.allSettled(playing)) expect(ended).toMatchObject({ status: "rejected" });
    },
  };
}

test.each([
  ["tcp", "server"],
  ["websocket", "client"],
] as const)("PPO learns CartPole from clients over %s, with the %s choosing actions", async (transport, inference) => {
  const listening = Promise.withResolvers<string>();
  await using algorithm = await configOf({ transport, inference, onListening: ({ url }) => listening.resolve(url) }).buildAlgo();
  const clients = players(await listening.promise, 3);
  let mean = 0;
  for (let iteration = 0; mean < 100 && iteration < 40; iteration += 1) mean = (await algorithm.train()).envRunners.episodeReturnMean ?? 0;
  expect(mean).toBeGreaterThan(100);
  await algorithm.stop();
  await clients.stop();
});

test("a runner in a process that is killed listens again on its port, and clients go on with it", async () => {
  await init({ numCpus: 1, logToDriver: false });
  const port = await freePort();
  const config = configOf({ port, transport: "tcp", chunkSteps: 50 })
    .envRunners({ numEnvRunners: 1 })
    .training({ trainBatchSizePerLearner: 200, minibatchSize: 100, numEpochs: 1 });
  await using algorithm = await config.faultTolerance({ delayBetweenEnvRunnerRestartsMs: 100 }).buildAlgo();
  const clients = players(`tcp://127.0.0.1:${port}`, 2);
  await algorithm.train();
  const runner = (await actors()).find(({ className, pid }) => className === "RunnerActor" && pid !== undefined);
  process.kill(runner?.pid as number, "SIGKILL");
  const { faults, envRunners } = await algorithm.train();
  expect(faults).toMatchObject({ numEnvRunnerRestarts: 1 });
  expect(envRunners.numEnvStepsSampled).toBeGreaterThanOrEqual(200);
  await algorithm.stop();
  await clients.stop();
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
