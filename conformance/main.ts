/**
 * `npm run conformance`: runs every scenario on Shoal and on the real Ray, and compares the results.
 *
 * A scenario passes when both sides end alike, or when it says that we differ and they do. The last line is `N passed, N failed`; the exit code is 1
 * where one failed. Ray's Python environment is the benchmark's, built once in .bench-cache/.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { prepareRay } from "../bench/ray-environment.ts";
import { OptionError, runTool, type ToolValues } from "../scripts/tool.ts";
import { RaySystem } from "./ray-system.ts";
import { scenarios as actors } from "./scenarios/actors.ts";
import { scenarios as data } from "./scenarios/data.ts";
import { scenarios as driver } from "./scenarios/driver.ts";
import { scenarios as errors } from "./scenarios/errors.ts";
import { scenarios as faults } from "./scenarios/faults-and-environments.ts";
import { scenarios as objects } from "./scenarios/objects.ts";
import { scenarios as scheduling } from "./scenarios/scheduling.ts";
import { scenarios as streams } from "./scenarios/streams-and-cancellation.ts";
import { scenarios as tasks } from "./scenarios/tasks.ts";
import { ShoalSystem, type SystemSettings } from "./shoal-system.ts";
import type { Scenario, System } from "./system.ts";

const USAGE = `Usage: npm run conformance -- [options]

Runs each scenario on Shoal and on the real Ray 2.60, and compares values, order and kinds of errors.

  --only TEXT        only scenarios whose name or section contains the text
  --shoal-only       run Shoal's side alone, and print what came of it
  --list             list the scenarios, and end
  --help             this text
`;

const SCENARIO_WITHIN_MS = 60_000;
const MACHINE = { numCpus: 4, numGpus: 2, resources: { widget: 2 } };

/** Scenarios of one group share a session on each side. Datasets have a session of their own: actors and pools that scenarios of the core leave behind would hold the CPUs that datasets wait for. */
const GROUPS: readonly (readonly Scenario[])[] = [[tasks, objects, actors, streams, errors, scheduling, faults, driver].flat(), data];

interface Side {
  readonly name: string;
  readonly system: System & { forget(): Promise<void> };
}

const OPTIONS = {
  only: { type: "string", default: "" },
  "shoal-only": { type: "boolean", default: false },
  list: { type: "boolean", default: false },
} as const;

async function conform(options: ToolValues<typeof OPTIONS>): Promise<number> {
  const wanted = options.only.toLowerCase();
  const groups = GROUPS.map((group) => group.filter(({ name, section }) => `${section} ${name}`.toLowerCase().includes(wanted)));
  const chosen = groups.flat();
  if (chosen.length === 0)
    throw new OptionError(`Cannot use --only: no scenario has ${JSON.stringify(options.only)} in its name; --list shows them`);
  if (options.list) {
    for (const { section, name } of chosen) print(`${section}: ${name}`);
    return 0;
  }
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const python = options["shoal-only"] ? undefined : (await prepareRay(root, print)).python;
  let failed = 0;
  for (const group of groups) if (group.length > 0) failed += await compareGroup(group, python);
  // After all that the ends of the sessions print.
  print(`${chosen.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** @param python - that of Ray; undefined: Shoal alone @returns how many failed */
async function compareGroup(group: readonly Scenario[], python: string | undefined): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "shoal-conformance-"));
  const sides: Side[] = [];
  try {
    sides.push({ name: "Shoal", system: await ShoalSystem.start(settingsIn(folder, "shoal")) });
    if (python !== undefined) sides.push({ name: "Ray", system: await RaySystem.start(python, settingsIn(folder, "ray")) });
    return await compareAll(group, sides);
  } finally {
    await Promise.all(sides.map(({ system }) => system.close()));
    rmSync(folder, { recursive: true, force: true });
  }
}

function settingsIn(folder: string, side: string): SystemSettings {
  const own = join(folder, side);
  mkdirSync(own);
  return { ...MACHINE, folder: own };
}

/** @returns how many failed */
async function compareAll(chosen: readonly Scenario[], sides: readonly Side[]): Promise<number> {
  let failed = 0;
  for (const scenario of chosen) {
    const results: unknown[] = [];
    for (const { name, system } of sides) {
      if (name === "Ray" && scenario.withoutRay !== undefined) {
        results.push(scenario.withoutRay.expected);
        continue;
      }
      results.push(await resultOf(scenario, system));
      await system.forget().catch(() => {});
    }
    const verdict = verdictOn(scenario, results);
    if (verdict !== undefined) failed += 1;
    print(`${verdict === undefined ? "ok  " : "FAIL"} ${scenario.section}: ${scenario.name}${verdict === undefined ? "" : `: ${verdict}`}`);
    if (verdict !== undefined || sides.length === 1) {
      for (const [index, { name }] of sides.entries()) print(`       ${name}: ${JSON.stringify(results[index])}`);
    }
  }
  return failed;
}

/** Why the scenario failed; undefined where it passed. */
function verdictOn(scenario: Scenario, [shoal, ray]: readonly unknown[]): string | undefined {
  if (isBroken(shoal)) return "it did not run to its end on Shoal";
  if (ray === undefined) return undefined;
  if (isBroken(ray)) return "it did not run to its end on Ray";
  const areEqual = isDeepStrictEqual(shoal, ray);
  if (scenario.differs === undefined) return areEqual ? undefined : "the outcomes differ";
  return areEqual ? `the outcomes are equal, but it says that we differ (${scenario.differs})` : undefined;
}

interface Broken {
  readonly broken: string;
}

function isBroken(result: unknown): result is Broken {
  return typeof result === "object" && result !== null && "broken" in result;
}

/** Returns the result after a passage through JSON, as both sides report theirs: undefined members are absent. */
async function resultOf(scenario: Scenario, system: System): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Broken>((resolve) => {
    timer = setTimeout(() => resolve({ broken: `no end within ${SCENARIO_WITHIN_MS / 1000} s` }), SCENARIO_WITHIN_MS);
  });
  try {
    const result = await Promise.race([scenario.run(system), late]);
    return withoutNulls(JSON.parse(JSON.stringify(result ?? null)));
  } catch (error) {
    return { broken: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  } finally {
    clearTimeout(timer);
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([key, inner]) => inner !== null || key === "value");
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutNulls(inner)]));
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exitCode = await runTool({ command: "npm run conformance", usage: USAGE, options: OPTIONS, run: conform });
