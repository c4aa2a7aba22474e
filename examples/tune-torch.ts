/**
 * Searches the step size, the width and the activation of a PyTorch network (`tune_torch.py` beside this file), and ends losing trials early with ASHA.
 *
 * Run: node examples/tune-torch.ts [PYTHON [TRIALS]], where PYTHON is an interpreter or a virtual environment that has torch. Default: python3.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import { ASHAScheduler, choice, loguniform, randint, TPESearch, Tuner } from "shoal/tune";

const EPOCHS = 16;

interface Config {
  lr: number;
  width: number;
  activation: "relu" | "tanh";
  epochs: number;
}

const [interpreter = "python3", trials = "12"] = process.argv.slice(2);
const storagePath = mkdtempSync(join(tmpdir(), "shoal-tune-torch-"));
await init({ logToDriver: false });
try {
  const train = python.task<(config: Config) => void>(new URL("tune_torch.py", import.meta.url), "train", {
    runtimeEnv: { python: interpreter },
  });
  const results = await new Tuner(train, {
    paramSpace: { lr: loguniform(1e-4, 1), width: randint(2, 33), activation: choice(["relu", "tanh"]), epochs: EPOCHS },
    tuneConfig: {
      metric: "accuracy",
      mode: "max",
      numSamples: Number(trials),
      searchAlg: new TPESearch({ seed: 1 }),
      scheduler: new ASHAScheduler({ maxT: EPOCHS, gracePeriod: 2 }),
    },
    runConfig: { name: "half-moons", storagePath, checkpointConfig: { numToKeep: 1 } },
  }).fit();
  for (const { message } of results.errors) console.error(message);
  const best = results.getBestResult();
  const early = [...results].filter(({ iterations }) => iterations < EPOCHS).length;
  console.log(`${results.length} trials, ${early > 0 ? "some" : "none"} ended early`);
  console.log(
    `the best tells more than 95 % apart: ${Number(best.metrics?.["accuracy"]) > 0.95}, and its checkpoint is kept: ${best.checkpoint !== undefined}`,
  );
} finally {
  await shutdown();
  rmSync(storagePath, { recursive: true });
}
