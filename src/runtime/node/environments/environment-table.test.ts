/** Environments are built once, on demand, and workers start when theirs is there. */
import { expect, test } from "vitest";
import { EnvironmentTable, type LaunchSettings } from "./environment-table.ts";

const description = { envVars: { A: "1" } };
const SETTINGS: LaunchSettings = { description, envVars: { A: "1" }, workingDirectory: undefined, packageFolder: undefined };
const FAILURE = { reason: "npm ci ended with code 1", output: ["no such package"] };

function described(): EnvironmentTable {
  const table = new EnvironmentTable();
  expect(table.handle({ kind: "described", key: "k", description })).toEqual([]);
  return table;
}

test("the first worker has it built, the others wait with it", () => {
  const table = described();
  expect(table.handle({ kind: "workerWanted", key: "k" })).toEqual([{ kind: "build", key: "k", description }]);
  expect(table.handle({ kind: "workerWanted", key: "k" })).toEqual([]);
  const launch = { kind: "launch", key: "k", settings: SETTINGS };
  expect(table.handle({ kind: "built", key: "k", settings: SETTINGS })).toEqual([launch, launch]);
  expect(table.handle({ kind: "workerWanted", key: "k" })).toEqual([launch]);
});

test("a failure is told once and forgotten", () => {
  const table = described();
  table.handle({ kind: "workerWanted", key: "k" });
  expect(table.handle({ kind: "buildFailed", key: "k", failure: FAILURE })).toEqual([{ kind: "failed", key: "k", failure: FAILURE }]);
  expect(table.handle({ kind: "workerWanted", key: "k" })).toEqual([{ kind: "build", key: "k", description }]);
  expect(table.handle({ kind: "built", key: "k", settings: SETTINGS })).toHaveLength(1);
});

test("workers that do not come up end it after three in a row", () => {
  const table = described();
  const died = { kind: "workerStartFailed", key: "k", output: ["bad option"] } as const;
  expect(table.handle(died)).toEqual([]);
  table.handle(died);
  table.handle({ kind: "workerStarted", key: "k" });
  table.handle(died);
  table.handle(died);
  const reason = "3 workers of it died at their start";
  expect(table.handle(died)).toEqual([{ kind: "failed", key: "k", failure: { reason, output: ["bad option"] } }]);
});

test("describing it again changes nothing", () => {
  const table = described();
  table.handle({ kind: "described", key: "k", description: { envVars: { A: "2" } } });
  expect(table.describe("k")).toBe(description);
});

test("what a process of another node wants is asked for once, and built when it is known", () => {
  const table = new EnvironmentTable();
  expect(table.handle({ kind: "workerWanted", key: "x" })).toEqual([{ kind: "ask", key: "x" }]);
  expect(table.handle({ kind: "workerWanted", key: "x" })).toEqual([]);
  expect(table.handle({ kind: "described", key: "x", description })).toEqual([{ kind: "build", key: "x", description }]);
  expect(table.handle({ kind: "built", key: "x", settings: SETTINGS })).toHaveLength(2);
});

test("one that nobody can describe is a failure, and asked for again", () => {
  const table = new EnvironmentTable();
  table.handle({ kind: "workerWanted", key: "x" });
  expect(table.handle({ kind: "buildFailed", key: "x", failure: FAILURE })).toEqual([{ kind: "failed", key: "x", failure: FAILURE }]);
  expect(table.handle({ kind: "workerWanted", key: "x" })).toEqual([{ kind: "ask", key: "x" }]);
});
