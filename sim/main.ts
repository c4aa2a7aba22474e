/**
 * `npm run sim`: runs the deterministic simulation of Shoal's processes, many seeds or one. `--help` tells the options.
 *
 * Exit code 1 when an invariant broke; the seed is printed and replays it. `cluster.ts` says which parts are real, `simulation.ts` which
 * invariants hold.
 */
import { OptionError, runTool, type ToolValues, wholeNumber } from "../scripts/tool.ts";
import { realNowMs } from "./ambient.ts";
import { mutate, wasMutated } from "./hooks.ts";
import { MUTANTS } from "./mutants.ts";
import { MUTATIONS } from "./mutations.ts";
import { REGRESSIONS } from "./regressions.ts";

const USAGE = `Usage: npm run sim -- [options]

Runs daemons, drivers, workers and heads as they are, in one process with virtual time,
under deaths and lost connections that a seed decides, and checks what has to hold
after each step. The same seed does the same in each run.

  --seeds N          how many seeds (default 300)
  --from N           the first of them (default 1)
  --seed N           this one alone, with the end of its trace when an invariant breaks
  --trace            with all of its trace
  --leases           with what the lease manager is told and does, too
  --steps N          how much each program does (default 40)
  --parts A,B        what the programs use besides tasks, actors and objects (default: drawn;
                     none: nothing): streams, cancellations, groups, actors, environments, memory, scarce,
                     outbox, retirements
  --nodes N          machines, 1 to 8, with a head of its own from 2 on (default 1)
  --fingerprints     a number for each seed, the same in each run
  --regressions      the seeds that once found something
  --mutant NAME      with a repaired defect put back into the code, which must be found
  --mutation NAME    with messages lost or changed on purpose, which must be found
  --help             this text
`;

const OPTIONS = {
  seed: { type: "string" },
  seeds: { type: "string", default: "300" },
  from: { type: "string", default: "1" },
  steps: { type: "string", default: "40" },
  mutation: { type: "string" },
  mutant: { type: "string" },
  parts: { type: "string", default: "drawn" },
  nodes: { type: "string", default: "1" },
  regressions: { type: "boolean", default: false },
  leases: { type: "boolean", default: false },
  fingerprints: { type: "boolean", default: false },
  trace: { type: "boolean", default: false },
} as const;

type Values = ToolValues<typeof OPTIONS>;

interface Run {
  readonly seed: number;
  readonly steps: number;
  readonly parts?: "drawn" | readonly string[];
  readonly nodes?: number;
}

const TRACE_TAIL = 60;

process.env["SHOAL_NATIVE"] = "0";

const exitCode = await runTool({ command: "npm run sim", usage: USAGE, options: OPTIONS, run: simulateAll });
// Simulated processes may have left timers of their own.
process.exit(exitCode);

async function simulateAll(values: Values): Promise<number> {
  const { mutation, mutant } = values;
  mustBeOneOf("mutation", mutation, Object.keys(MUTATIONS));
  mustBeOneOf("mutant", mutant, Object.keys(MUTANTS));
  const replaced = mutant === undefined ? undefined : MUTANTS[mutant];
  // Before the code is loaded.
  if (replaced !== undefined) mutate(replaced);
  const { simulate } = await import("./simulation.ts");
  const { PARTS } = await import("./parts/index.ts");
  const runs = values.regressions ? REGRESSIONS : runsOf(values, Object.keys(PARTS));
  const startMs = realNowMs();
  const sums = { events: 0, tasks: 0, calls: 0, deaths: 0, failed: 0 };
  let done = 0;
  for (const run of runs) {
    done += 1;
    const { seed, steps, parts = [], nodes = 1 } = run;
    const result = await simulate({ seed, steps, parts, nodes, mutation, isVerbose: values.leases });
    for (const what of ["events", "tasks", "calls", "deaths"] as const) sums[what] += result[what];
    report(run, result, values);
    if (result.violations.length === 0) continue;
    sums.failed += 1;
    if (mutation !== undefined || mutant !== undefined) break;
  }
  if (replaced !== undefined && !wasMutated()) throw new Error(`the code of mutant ${mutant} was not loaded`);
  const seconds = (realNowMs() - startMs) / 1000;
  console.log(
    `${done} ${done === 1 ? "seed" : "seeds"}, ${sums.failed} failed: ${sums.events} events, ${sums.tasks} tasks, ${sums.calls} actor calls, ${sums.deaths} ended processes in ${seconds.toFixed(1)} s`,
  );
  return sums.failed > 0 ? 1 : 0;
}

/** @throws OptionError */
function runsOf(values: Values, partNames: readonly string[]): Run[] {
  const steps = wholeNumber("steps", values.steps, { min: 1 });
  const nodes = wholeNumber("nodes", values.nodes, { min: 1, max: 8 });
  const parts = values.parts === "drawn" ? values.parts : values.parts.split(",").filter((name) => name !== "" && name !== "none");
  if (parts !== "drawn") for (const part of parts) mustBeOneOf("parts", part, [...partNames, "none"]);
  if (values.seed !== undefined) return [{ seed: wholeNumber("seed", values.seed), steps, parts, nodes }];
  const first = wholeNumber("from", values.from);
  return Array.from({ length: wholeNumber("seeds", values.seeds, { min: 1 }) }, (_, index) => ({
    seed: first + index,
    steps,
    parts,
    nodes,
  }));
}

/** @throws OptionError */
function mustBeOneOf(option: string, given: string | undefined, known: readonly string[]): void {
  if (given === undefined || known.includes(given)) return;
  throw new OptionError(`Cannot use --${option}: there is no ${JSON.stringify(given)}; there are ${known.join(", ")}`);
}

interface Result {
  readonly events: number;
  readonly virtualMs: number;
  readonly fingerprint: number;
  readonly trace: readonly string[];
  readonly violations: readonly string[];
}

function report({ seed, steps, parts = [], nodes = 1 }: Run, result: Result, values: Values): void {
  const { events, fingerprint, trace, violations, virtualMs } = result;
  const isAlone = values.seed !== undefined;
  if (values.fingerprints) console.log(`seed ${seed}: ${fingerprint}`);
  if (values.trace) console.log(trace.join("\n"));
  else if (isAlone && violations.length > 0) console.log(trace.slice(-TRACE_TAIL).join("\n"));
  if (isAlone) console.log(`seed ${seed}: ${events} events, ${Math.round(virtualMs)} ms, fingerprint ${fingerprint}`);
  if (violations.length === 0) return;
  console.log(`seed ${seed} breaks an invariant: ${violations.join("\n  ")}`);
  const stepsText = steps === 40 ? "" : ` --steps=${steps}`;
  const partsText = parts === "drawn" ? "" : ` --parts=${parts.join(",") || "none"}`;
  console.log(`replay it: npm run sim -- --seed=${seed}${stepsText}${partsText}${nodes === 1 ? "" : ` --nodes=${nodes}`}`);
}
