/** Many trials at once: a population of a thousand, paused together, holds no processes and little memory. A trial that waits for others is told of. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { availableResources, init, remote, shutdown } from "shoal";
import { PopulationBasedTraining, type SchedulerView, Tuner, uniform } from "shoal/tune";
import { expect, test, vi } from "vitest";
import { collectGarbage, shoalProcesses, until } from "../integration/session.ts";

/** The population, synchronously, and the largest number of members paused at the same time. */
class Watched extends PopulationBasedTraining {
  pausedMax = 0;
  processesMax = 0;

  override chooseTrialToRun(view: SchedulerView): string | undefined {
    const paused = [...view.liveTrials.values()].filter(({ status }) => status === "paused").length;
    if (paused > this.pausedMax) {
      this.pausedMax = paused;
      if (paused % 100 === 0) this.processesMax = Math.max(this.processesMax, shoalProcesses({ kind: "worker" }).length);
    }
    return super.chooseTrialToRun(view);
  }
}

class Counter {
  #at = 0;
  step() {
    this.#at += 1;
    return { score: this.#at };
  }
  saveCheckpoint(folder: string) {
    process.getBuiltinModule("node:fs").writeFileSync(`${folder}/at`, String(this.#at));
  }
  loadCheckpoint(folder: string) {
    this.#at = Number(process.getBuiltinModule("node:fs").readFileSync(`${folder}/at`, "utf8"));
  }
  resetConfig() {
    this.#at = 0;
    return true;
  }
}

test("a thousand paused trials hold no resources, and all come to their end", { timeout: 600_000 }, async () => {
  const storagePath = mkdtempSync(join(tmpdir(), "test-shoal-tune-scale-"));
  await init({ numCpus: 2, logToDriver: false });
  try {
    const run = async (name: string, numSamples: number) => {
      const scheduler = new Watched({
        timeAttr: "trainingIteration",
        perturbationInterval: 1,
        hyperparamMutations: { rate: [1, 2, 3] },
        quantileFraction: 0,
        synch: true,
        seed: 1,
      });
      const results = await new Tuner(Counter, {
        paramSpace: { rate: uniform(0, 1) },
        tuneConfig: { metric: "score", mode: "max", numSamples, seed: 1, scheduler },
        runConfig: { storagePath, name, stop: { trainingIteration: 2 }, checkpointConfig: { numToKeep: 1 } },
      }).fit();
      return { results, scheduler };
    };
    // Memory that the first experiment of a process leaves is not that of trials.
    await run("first", 20);
    await collectGarbage();
    const before = process.memoryUsage().heapUsed;
    const { results, scheduler } = await run("paused", 1000);
    expect(results.errors.map(({ message }) => message)).toEqual([]);
    expect(new Set(Array.from(results, ({ metrics, iterations }) => `${metrics?.score} ${iterations}`))).toEqual(new Set(["2 2"]));
    expect(scheduler.pausedMax).toBeGreaterThanOrEqual(998);
    expect(scheduler.processesMax).toBeLessThanOrEqual(6);
    await collectGarbage();
    expect((process.memoryUsage().heapUsed - before) / results.length).toBeLessThan(4000);
    await until(async () => (await availableResources())["CPU"] === 2, "the CPUs to be free");
  } finally {
    await shutdown();
    rmSync(storagePath, { recursive: true });
  }
});

test("a trial that waits long for what other work holds is said, and runs when that ends", { timeout: 60_000 }, async () => {
  const storagePath = mkdtempSync(join(tmpdir(), "test-shoal-tune-wait-"));
  await init({ numCpus: 1, logToDriver: false });
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  try {
    const hold = remote(async (folder: string) => {
      writeFileSync(join(folder, "begun"), "");
      while (!existsSync(join(folder, "go"))) await new Promise((resolve) => setTimeout(resolve, 10));
    });
    const hog = hold.remote(storagePath);
    // The trial would get the CPU where it came first.
    await until(() => existsSync(join(storagePath, "begun")), "the other work to begin");
    const fitted = new Tuner(() => ({ at: 1 }), { runConfig: { storagePath } }).fit();
    await until(() => write.mock.calls.length > 0, "a word of the wait");
    writeFileSync(join(storagePath, "go"), "");
    const results = await fitted;
    const said = write.mock.calls.map(([text]) => String(text)).join("");
    const id = results.at(0)?.trialId;
    expect(said).toBe(
      `shoal tune: trial ${id} waits for 1 CPU, of which 0 is free: other work of the cluster holds it: the trial begins when that ends\n`,
    );
    expect(results.at(0)?.metrics?.at).toBe(1);
    await hog;
  } finally {
    write.mockRestore();
    await shutdown();
    rmSync(storagePath, { recursive: true });
  }
});
