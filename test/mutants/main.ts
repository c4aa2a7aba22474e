/**
 * `npm run mutants`: puts each wrong decision of `library-mutants.ts` into the code, one at a time, and runs the unit tests that must notice it.
 *
 * Exit code 1 when a mutant lived. Names as arguments run these alone. Nothing is written: Vitest loads the changed text in place of the file's.
 */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { OptionError, runTool } from "../../scripts/tool.ts";
import { LIBRARY_MUTANTS, testOf } from "./library-mutants.ts";

const USAGE = `Usage: npm run mutants -- [options]

Puts wrong decisions into the pure files of Serve, Tune, Train and Data, one at a time, and
runs the unit tests that must notice each.

  --only A,B   these mutants alone
  --help       this text
`;

const OPTIONS = { only: { type: "string" } } as const;
const ROOT = join(import.meta.dirname, "../..");

process.exit(await runTool({ command: "npm run mutants", usage: USAGE, options: OPTIONS, run: ({ only }) => runAll(only?.split(",")) }));

async function runAll(only: readonly string[] | undefined): Promise<number> {
  const names = only ?? Object.keys(LIBRARY_MUTANTS);
  const unknown = names.find((name) => !Object.hasOwn(LIBRARY_MUTANTS, name));
  if (unknown !== undefined)
    throw new OptionError(
      `Cannot run a mutant: there is none of that name: received ${unknown}. Names are in test/mutants/library-mutants.ts.`,
    );
  const waiting = [...names];
  const lived: string[] = [];
  const work = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const hasDied = await dies(name);
      if (!hasDied) lived.push(name);
      process.stdout.write(`${name}: ${hasDied ? "died" : "LIVED"}\n`);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.floor(availableParallelism() / 2)) }, work));
  process.stdout.write(`${names.length} mutants, ${lived.length} lived${lived.length > 0 ? `: ${lived.join(", ")}` : ""}\n`);
  return lived.length > 0 ? 1 : 0;
}

/** Whether the tests fail with the mutant. */
async function dies(name: string): Promise<boolean> {
  const args = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/mutants/vitest.config.ts", testOf(name)];
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, SHOAL_MUTANT: name },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  if (code === 0) return false;
  if (!/Tests .*failed/.test(output)) throw new Error(`Cannot run the tests of the mutant ${name}:\n${output}`);
  return true;
}
