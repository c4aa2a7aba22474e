/**
 * `npm run sim`: runs the deterministic simulation of Shoal's processes.
 *
 *   npm run sim                        300 seeds, from 1 on
 *   npm run sim -- --seeds 10000       many; --from N begins elsewhere
 *   npm run sim -- --seed 42           one, with the end of its trace when an invariant breaks
 *   npm run sim -- --seed 42 --trace   with all of its trace; --steps N makes the programs longer
 *                                      --leases adds what the lease manager is told and does
 *   npm run sim -- --fingerprints      a number for each seed, the same in each run
 *   npm run sim -- --parts streams     with these parts in the programs (none: tasks and actors alone); by default they are drawn
 *   npm run sim -- --nodes 3           on several machines, with a head of its own
 *   npm run sim -- --regressions       the seeds that once found something
 *   npm run sim -- --mutant NAME       with a repaired defect put back into the code (`mutants.ts`)
 *   npm run sim -- --mutation NAME     with a defect put in on purpose, which must be found
 *
 * Exit code 1 when an invariant broke; the seed is printed and replays it. What is simulated and what is real is told in `cluster.ts`, what must hold in `simulation.ts`.
 */
import { parseArgs } from "node:util";
import { realNowMs } from "./ambient.ts";
import { mutate, wasMutated } from "./hooks.ts";
import { MUTANTS } from "./mutants.ts";
import { REGRESSIONS } from "./regressions.ts";

process.env["SHOAL_NATIVE"] = "0";

const TRACE_TAIL = 60;

const { values } = parseArgs({
  options: {
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
  },
});

const mutant = values.mutant === undefined ? undefined : MUTANTS[values.mutant];
if (values.mutant !== undefined && mutant === undefined) throw new Error(`there is no mutant ${values.mutant}`);
if (mutant !== undefined) mutate(mutant);
const { simulate } = await import("./simulation.ts");
const partsOf = (text: string): "drawn" | string[] =>
  text === "drawn" ? text : text.split(",").filter((name) => name !== "" && name !== "none");
const runs = values.regressions
  ? REGRESSIONS
  : Array.from({ length: values.seed === undefined ? Number(values.seeds) : 1 }, (_, index) => ({
      seed: Number(values.seed ?? values.from) + index,
      steps: Number(values.steps),
      parts: partsOf(values.parts),
      nodes: Number(values.nodes),
    }));
const startMs = realNowMs();
const sums = { events: 0, tasks: 0, calls: 0, deaths: 0, failed: 0 };
for (const { seed, steps, parts = [], nodes = 1 } of runs) {
  const result = await simulate({ seed, steps, parts, nodes, mutation: values.mutation, isVerbose: values.leases });
  sums.events += result.events;
  sums.tasks += result.tasks;
  sums.calls += result.calls;
  sums.deaths += result.deaths;
  if (values.fingerprints) console.log(`seed ${seed}: ${result.fingerprint}`);
  if (values.trace) console.log(result.trace.join("\n"));
  if (values.seed !== undefined)
    console.log(`seed ${seed}: ${result.events} events, ${Math.round(result.virtualMs)} ms, fingerprint ${result.fingerprint}`);
  if (result.violations.length === 0) continue;
  sums.failed += 1;
  if (!values.trace && values.seed !== undefined) console.log(result.trace.slice(-TRACE_TAIL).join("\n"));
  console.log(`seed ${seed} breaks an invariant: ${result.violations.join("\n  ")}`);
  const partsText = parts === "drawn" ? "" : ` --parts=${parts.join(",") || "none"}`;
  console.log(
    `replay it: npm run sim -- --seed=${seed}${steps === 40 ? "" : ` --steps=${steps}`}${partsText}${nodes === 1 ? "" : ` --nodes=${nodes}`}`,
  );
  if (values.mutation !== undefined || mutant !== undefined) break;
}
if (mutant !== undefined && !wasMutated()) throw new Error(`mutant ${values.mutant} was not loaded`);
const seconds = (realNowMs() - startMs) / 1000;
console.log(
  `${runs.length} ${runs.length === 1 ? "seed" : "seeds"}, ${sums.failed} failed: ${sums.events} events, ${sums.tasks} tasks, ${sums.calls} actor calls, ${sums.deaths} ended processes in ${seconds.toFixed(1)} s`,
);
process.exit(sums.failed > 0 ? 1 : 0);
