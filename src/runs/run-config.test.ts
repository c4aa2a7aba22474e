import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { readRunConfig, type RunConfig } from "./run-config.ts";
import { defaultRunName } from "./folder/run-names.ts";

test("everything has a default", async () => {
  expect(await readRunConfig(undefined, "train")).toEqual({
    name: undefined,
    storagePath: join(homedir(), "shoal_results"),
    failureConfig: {
      maxFailures: 0,
      reportTimeoutMs: undefined,
      rendezvousTimeoutMs: 600_000,
      startTimeoutMs: undefined,
      healthCheckIntervalMs: 2000,
      healthCheckTimeoutMs: undefined,
      collectiveWarnIntervalMs: 60_000,
      controllerFailureLimit: undefined,
      maxPreemptionFailures: -1,
      preemptionGraceMs: 0,
      relaxCollectivesOnPreemption: false,
      failFast: false,
    },
    checkpointConfig: {
      numToKeep: undefined,
      checkpointScoreAttribute: undefined,
      checkpointScoreOrder: "max",
      checkpointFrequency: 0,
      checkpointAtEnd: false,
    },
    callbacks: [],
    workerRuntimeEnv: undefined,
    chdirToRankDir: undefined,
    logLevel: "WARNING",
    stop: undefined,
    overwrite: false,
    verbose: undefined,
    progressReporter: undefined,
  });
});

test("what is given counts", async () => {
  const callback = { onTrialStart: () => undefined };
  const config = await readRunConfig(
    {
      name: "mine",
      storagePath: "runs",
      failureConfig: { maxFailures: -1, failFast: "raise" },
      checkpointConfig: { numToKeep: 2, checkpointScoreAttribute: "eval/loss", checkpointScoreOrder: "min", checkpointAtEnd: true },
      callbacks: [callback],
      stop: { loss: 0.1 },
      overwrite: true,
    },
    "tune",
  );
  expect(config).toMatchObject({
    name: "mine",
    storagePath: resolve("runs"),
    failureConfig: { maxFailures: -1, failFast: "raise" },
    checkpointConfig: { numToKeep: 2, checkpointScoreAttribute: "eval/loss", checkpointScoreOrder: "min", checkpointAtEnd: true },
    stop: { loss: 0.1 },
    overwrite: true,
  });
  expect(config.callbacks).toEqual([callback]);
});

test.each<[unknown, "train" | "tune", string]>([
  [{ nmae: "x" }, "train", "did you mean name"],
  [{ storage_path: "x" }, "train", "it is spelled storagePath"],
  [{ localDir: "x" }, "tune", "it is storagePath"],
  [{ stop: { loss: 1 } }, "train", 'there is no option "stop": it is an option of Tune'],
  [{ overwrite: true }, "train", "it is an option of Tune"],
  [{ verbose: 2 }, "train", "it is an option of Tune: lines of progress are for terminals"],
  [{ progress_reporter: {} }, "train", "it is an option of Tune"],
  [{ progress_reporter: {} }, "tune", "it is spelled progressReporter"],
  [{ progressReporter: [] }, "tune", "an object such as { maxProgressRows: 5 } is needed: received "],
  [{ verbose: 4 }, "tune", "Cannot set verbose of runConfig: 0, 1, 2 or 3 is needed: received 4"],
  [{ failureConfig: { failFast: true } }, "train", "it is an option of Tune"],
  [{ checkpointConfig: { checkpointFrequency: 5 } }, "train", "it is an option of Tune"],
  [{ workerRuntimeEnv: "venv" }, "train", "Cannot set workerRuntimeEnv of runConfig: an object such as"],
  [{ workerRuntimeEnv: {} }, "tune", "it is an option of Train"],
  [{ loggingConfig: { logLevel: "loud" } }, "train", "Cannot set logLevel of loggingConfig"],
  [{ loggingConfig: { log_level: "INFO" } }, "train", "it is spelled logLevel"],
  [
    { failureConfig: { maxPreemptionFailures: -2 } },
    "train",
    "Cannot set maxPreemptionFailures of failureConfig: a whole number from -1 is needed",
  ],
  [{ failureConfig: { maxPreemptionFailures: 2 } }, "tune", "it is an option of Train"],
  [{ failureConfig: { preemption_grace_s: 2 } }, "train", "it is preemptionGraceMs, in milliseconds"],
  [{ failureConfig: { relaxCollectivesOnPreemption: true } }, "train", "it needs preemptionGraceMs"],
  [{ name: "../x" }, "train", "Cannot set name of runConfig: it must not have slashes"],
  [{ name: 5 }, "train", "Cannot set name of runConfig: it must be text: received 5"],
  [{ storagePath: "" }, "train", "Cannot set storagePath of runConfig"],
  [{ storagePath: "gs://bucket" }, "train", "gs:// is not supported"],
  [{ failureConfig: 3 }, "train", "an object such as { maxFailures: 2 } is needed: received 3"],
  [
    { failureConfig: { maxFailures: -2 } },
    "train",
    "Cannot set maxFailures of failureConfig: a whole number from -1 is needed (-1: without end)",
  ],
  [{ failureConfig: { reportTimeoutMs: 0 } }, "train", "Cannot set reportTimeoutMs of failureConfig"],
  [
    { failureConfig: { healthCheckTimeoutMs: 0 } },
    "train",
    "Cannot set healthCheckTimeoutMs of failureConfig: a number of milliseconds above 0",
  ],
  [{ failureConfig: { startTimeoutMs: 5 } }, "tune", "it is an option of Train"],
  [{ failureConfig: { failFast: "later" } }, "tune", 'true, false or "raise" is needed: received "later"'],
  [{ checkpointConfig: { numToKeep: 0 } }, "tune", "Cannot set numToKeep of checkpointConfig: a whole number from 1 is needed"],
  [{ checkpointConfig: { checkpointScoreOrder: "up" } }, "tune", '"max" or "min" is needed'],
  [{ callbacks: {} }, "tune", "a list of callbacks is needed"],
  [{ callbacks: [undefined] }, "tune", "a list of callbacks is needed"],
])("%j is refused", async (given, library, message) => {
  await expect(readRunConfig(given as RunConfig, library)).rejects.toThrow(message);
});

test("a run without a name is called after what runs, and the time", () => {
  expect(defaultRunName("TorchTrainer", new Date(2026, 0, 2, 3, 4, 5))).toBe("TorchTrainer_2026-01-02_03-04-05");
});
