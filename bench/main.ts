/**
 * `npm run bench`: measures every figure on Shoal, with `--against-ray` on the real Ray in turn, prints the table and
 * writes the results file. It decides what to run and what to print; the rest is in the files beside it.
 * Exit codes: 0 when every figure ran, however slow it was; 1 when one failed to run; 2 for options it does not know.
 */
import { rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { OptionError, runTool, type ToolValues, wholeNumber } from "../scripts/tool.ts";
import { type Figure, FULL_PLAN, QUICK_PLAN } from "./figure.ts";
import type { RayEnvironment } from "./ray-environment.ts";

const USAGE = `Usage: npm run bench -- [options]

Measures Shoal on this machine and prints one line a figure: rates, latencies, sizes.

  --against-ray      measure the real Ray too, in turn with Shoal; its Python environment
                     is built once, in .bench-cache/ (needs Python 3.10 to 3.13)
  --against-pools    instead: measure calls beside Piscina, tinypool and workerpool, in turn, idle and
                     beside a busy process; the three are installed once, in .bench-cache/
  --only NAME,...    only these figures, or rows of --against-pools
  --rounds N         rounds of each side, 1 to 100 (default 3; with --quick 1)
  --rows N           rows of the tables of Data, instead of 10 million
  --quick            shorter windows and smaller batches: a smoke test, not a result to quote
  --json FILE        write the results, with the facts of the machine
  --list             list the figures with their bars, and end
  --help             this text
`;

interface Options {
  readonly againstRay: boolean;
  readonly againstPools: boolean;
  readonly only: readonly string[];
  readonly quick: boolean;
  readonly rounds: number;
  readonly rows: number | undefined;
  readonly json: string | null;
  readonly list: boolean;
}

const OPTIONS = {
  "against-ray": { type: "boolean", default: false },
  "against-pools": { type: "boolean", default: false },
  only: { type: "string", multiple: true },
  rounds: { type: "string" },
  rows: { type: "string" },
  quick: { type: "boolean", default: false },
  json: { type: "string" },
  list: { type: "boolean", default: false },
} as const;

/** @throws OptionError */
function readOptions(values: ToolValues<typeof OPTIONS>): Options {
  return {
    againstRay: values["against-ray"],
    againstPools: values["against-pools"],
    only: (values.only ?? []).flatMap((names) => names.split(",")).filter((name) => name !== ""),
    quick: values.quick,
    rounds: values.rounds === undefined ? (values.quick ? 1 : 3) : wholeNumber("rounds", values.rounds, { min: 1, max: 100 }),
    rows: values.rows === undefined ? undefined : wholeNumber("rows", values.rows, { min: 1000, max: 1e9 }),
    json: values.json === undefined ? null : resolve(process.env.INIT_CWD ?? ".", values.json),
    list: values.list,
  };
}

async function bench(options: Options): Promise<number> {
  const repositoryRoot = resolve(import.meta.dirname, "..");
  const args = process.argv.slice(2);
  const command = ["npm run bench", ...(args.length > 0 ? ["--", ...args] : [])].join(" ");
  if (options.againstPools) return benchPools({ ...options, repositoryRoot, command });
  const { loadFigures, selectFigures } = await import("./catalogue.ts");
  const { figureLine } = await import("./report.ts");
  // The figures import the package by its own name, so they need it built.
  let figures = await loadFigures().catch((cause: unknown) => {
    throw new Error(`Cannot load the figures (is the package built? \`npm run build\`): ${messageOf(cause)}`, { cause });
  });
  try {
    if (options.only.length > 0) figures = selectFigures(figures, options.only);
  } catch (error) {
    throw new OptionError(messageOf(error), { cause: error });
  }
  if (options.list) {
    process.stdout.write(`${figures.map(figureLine).join("\n")}\n`);
    return 0;
  }
  return runFigures(figures, { options, repositoryRoot, command });
}

async function benchPools(options: Options & { readonly repositoryRoot: string; readonly command: string }): Promise<number> {
  if (options.againstRay)
    throw new OptionError("Cannot use --against-pools with --against-ray: their rows differ, so run them one after the other");
  const { runAgainstPools, selectRows } = await import("./against-pools.ts");
  try {
    const rows = selectRows(options.only);
    if (options.list) {
      process.stdout.write(`${rows.map(({ name, title }) => `${name.padEnd(19)} ${title}`).join("\n")}\n`);
      return 0;
    }
  } catch (error) {
    throw new OptionError(messageOf(error), { cause: error });
  }
  return runAgainstPools(options);
}

interface Run {
  readonly options: Options;
  readonly repositoryRoot: string;
  readonly command: string;
}

async function runFigures(wanted: readonly Figure[], run: Run): Promise<number> {
  const { options, repositoryRoot, command } = run;
  const { closeAllChildren } = await import("./child.ts");
  const { compare } = await import("./compare.ts");
  const { machineFacts } = await import("./machine.ts");
  const { prepareRay } = await import("./ray-environment.ts");
  const { HAPROXY_IS_MISSING } = await import("./ray-modes.ts");
  const { afterTable, resultEntry, resultLine, tableHeading } = await import("./report.ts");
  const { runnableFigures } = await import("./missing-programs.ts");
  const { newScratchDirectory, raySubject, shoalSubject } = await import("./subject.ts");
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const { runnable: figures, missing } = runnableFigures(wanted, process.env.PATH ?? "");

  const date = new Date().toISOString();
  const rayEnvironment: RayEnvironment | null = options.againstRay ? await prepareRay(repositoryRoot, say) : null;
  const machine = await machineFacts(repositoryRoot, rayEnvironment);
  const scratchDirectory = await newScratchDirectory();
  const context = { repositoryRoot, scratchDirectory };
  const interrupted = async () => {
    await closeAllChildren();
    await rm(scratchDirectory, { recursive: true, force: true });
    process.exit(130);
  };
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  try {
    say(`${machine.cpu}, ${machine.cores} cores, ${machine.memoryGigabytes} GB, ${machine.system}`);
    say(`Shoal ${machine.shoal} on Node ${machine.node}${machine.ray === null ? "" : `; Ray ${machine.ray} on Python ${machine.python}`}`);
    if (rayEnvironment?.haproxy === null && figures.some((figure) => "fastMode" in figure)) say(HAPROXY_IS_MISSING);
    for (const line of missing) say(line);
    say(`${options.rounds} round(s) a side${options.quick ? ", quick: not a result to quote" : ""}\n`);
    say(tableHeading());
    const results = await compare(figures, {
      shoal: shoalSubject(context, rayEnvironment?.python),
      ray: rayEnvironment === null ? null : raySubject(context, rayEnvironment),
      plan: { ...(options.quick ? QUICK_PLAN : FULL_PLAN), ...(options.rows === undefined ? {} : { rows: options.rows }) },
      rounds: options.rounds,
      onResult: (result) => say(resultLine(result)),
    });
    say(`\n${afterTable(results)}`);
    if (options.json !== null) {
      const file = { machine, date, command, results: results.map(resultEntry) };
      await writeFile(options.json, `${JSON.stringify(file, null, 2)}\n`);
    }
    return missing.length > 0 || results.some((result) => result.failures.length > 0) ? 1 : 0;
  } finally {
    await rm(scratchDirectory, { recursive: true, force: true });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

runTool({ command: "npm run bench", usage: USAGE, options: OPTIONS, run: (values) => bench(readOptions(values)) }).then(
  (exitCode) => {
    process.exitCode = exitCode;
  },
  (error: unknown) => {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exitCode = 1;
  },
);
