/**
 * `npm run tokens`: prints the size of `src` without its tests, in tokens without comments, a row a folder. With `--against`, also prints
 * the size at a revision of git.
 *
 * Tokens and not lines, because lines can be made longer and the size of comments does not matter. A file that moved counts where it is;
 * the total does not change by it.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./setup.mjs";
import { countTokens } from "./tokens.ts";
import { OptionError, runTool } from "./tool.ts";

const USAGE = `Usage: npm run tokens -- [options]

Counts the tokens of src, tests and comments left out, by folder and in all.

  --against REV   also at this revision of git, and the difference
  --help          prints this
`;

/** Bands whose folders are as large as other bands: each folder has its own row. */
const BANDS_OF_FOLDERS: ReadonlySet<string> = new Set(["runtime", "ops"]);

const NAME_COLUMNS = 24;
const OUTPUT_BYTES_MAX = 256 * 1024 * 1024;

/** By path, relative to the repository. */
type Sources = ReadonlyMap<string, string>;

process.exitCode = await runTool({
  command: "npm run tokens",
  usage: USAGE,
  options: { against: { type: "string" } },
  run: ({ against }) => {
    const now = countsOf(sourcesHere());
    const before = against === undefined ? undefined : countsOf(sourcesAt(against));
    const folders = [...new Set([...now.keys(), ...(before?.keys() ?? [])])].sort();
    for (const folder of folders) process.stdout.write(`${row(folder, now.get(folder) ?? 0, before && (before.get(folder) ?? 0))}\n`);
    process.stdout.write(`${row("total", sum(now), before && sum(before))}\n`);
    return 0;
  },
});

function row(name: string, now: number, before: number | undefined): string {
  const columns = [now];
  if (before !== undefined) columns.unshift(before);
  const difference = before === undefined ? "" : `${now > before ? "+" : ""}${now - before}`.padStart(10);
  return name.padEnd(NAME_COLUMNS) + columns.map((count) => String(count).padStart(10)).join("") + difference;
}

/** The tokens of each folder of `src`; its own files are under "src". */
function countsOf(sources: Sources): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [path, text] of sources) {
    const folders = path.split("/").slice(1, -1);
    const name = folders.slice(0, BANDS_OF_FOLDERS.has(folders[0] ?? "") ? 2 : 1).join("/") || "src";
    counts.set(name, (counts.get(name) ?? 0) + countTokens(text));
  }
  return counts;
}

function sourcesHere(): Sources {
  const paths = readdirSync(join(ROOT, "src"), { recursive: true }).map((path) => join("src", String(path)));
  return new Map(paths.filter(isSource).map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));
}

/** @throws OptionError for what git does not know */
function sourcesAt(revision: string): Sources {
  try {
    const paths = git(["ls-tree", "-r", "--name-only", revision, "src"]).trimEnd().split("\n").filter(isSource);
    return new Map(paths.map((path) => [path, git(["show", `${revision}:${path}`])]));
  } catch (cause) {
    throw new OptionError(`Cannot use --against: git has no revision ${JSON.stringify(revision)}`, { cause });
  }
}

function isSource(path: string): boolean {
  return path.endsWith(".ts") && !path.endsWith(".test.ts");
}

function git(args: readonly string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8", maxBuffer: OUTPUT_BYTES_MAX, stdio: ["ignore", "pipe", "ignore"] });
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}
