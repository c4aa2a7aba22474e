import { expect, test } from "vitest";
import { workerEnvironment } from "./worker-environment.ts";

test("environments are merged: later ones win, variables one by one", () => {
  const loop = { python: "venv", envVars: { A: "loop", B: "loop" }, workingDir: "loop", excludes: ["big"] };
  const run = { envVars: { B: "run", C: "run" } };
  expect(workerEnvironment(loop, run, { python: "other" })).toEqual({
    python: "other",
    envVars: { A: "loop", B: "run", C: "run" },
    workingDir: "loop",
    excludes: ["big"],
  });
  expect(workerEnvironment(loop, { workingDir: "mine" })).toEqual({ python: "venv", envVars: loop.envVars, workingDir: "mine" });
});

test("where only one is given, or none, it is that", () => {
  const only = { python: "venv" };
  expect(workerEnvironment(undefined, only, undefined)).toBe(only);
  expect(workerEnvironment(undefined, undefined)).toBeUndefined();
});
