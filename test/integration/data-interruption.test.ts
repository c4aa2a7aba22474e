/** Ends of programs that read and write datasets: Ctrl-C to all processes of a terminal and to the program alone, and SIGKILL. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as data from "shoal/data";
import { expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { isAlive, shoalProcesses, until, useFolder } from "./session.ts";

const folder = useFolder();
const DIST = pathToFileURL(join(REPOSITORY, "dist", "data", "index.js")).href;

interface Program {
  readonly child: ChildProcess;
  readonly processes: () => number[];
  readonly stderr: () => string;
  /** Sends SIGINT and waits for the end. */
  interrupt(whom: "terminal" | "program"): Promise<{ signal: string | null; code: number | null; ms: number; stderr: string }>;
}

/** A program with 200 slow read tasks of 10 rows each as `rows`. */
function start(name: string, ...lines: string[]): Program {
  const file = join(folder, `${name}.mjs`);
  const source = [
    `import * as data from ${JSON.stringify(DIST)};`,
    "const read = async function* () { await new Promise((r) => setTimeout(r, 40)); yield { id: new Float64Array(10) }; };",
    'const rows = data.readDatasource({ name: "slow", getReadTasks: () => Array.from({ length: 200 }, () => ({ read })) });',
    ...lines,
  ];
  writeFileSync(file, source.join("\n"));
  const child = spawn(process.execPath, [file], { detached: true, stdio: ["ignore", "inherit", "pipe"] });
  let stderr = "";
  child.stderr?.on("data", (text: Buffer) => (stderr += text.toString()));
  const pid = child.pid as number;
  return {
    child,
    stderr: () => stderr,
    processes: () => shoalProcesses({ under: pid }),
    interrupt: async (whom) => {
      const startedMs = performance.now();
      const ended = once(child, "close") as Promise<[number | null, string | null]>;
      process.kill(whom === "terminal" ? -pid : pid, "SIGINT");
      const [code, signal] = await ended;
      return { code, signal, ms: performance.now() - startedMs, stderr };
    },
  };
}

const filesIn = (target: string): string[] => (existsSync(target) ? readdirSync(target).filter((name) => name.startsWith("part-")) : []);

/** Files that wait to be moved to their places, and the mark of the write. */
const stagedIn = (target: string): string[] =>
  readdirSync(target)
    .filter((name) => name.startsWith(".staging"))
    .flatMap((name) => readdirSync(join(target, name)));

test.each(["terminal", "program"] as const)(
  "a write that is interrupted by the %s ends soon, says what is in place, and leaves that alone",
  async (whom) => {
    const target = join(folder, `out ${whom}`);
    const program = start(`write-${whom}`, `await rows.writeCsv(${JSON.stringify(target)});`, 'console.log("it went on");');
    await until(() => filesIn(target).length >= 3, "files");
    const processes = program.processes();
    const { signal, ms, stderr } = await program.interrupt(whom);
    expect(signal).toBe("SIGINT");
    expect(ms).toBeLessThan(2000);
    const files = filesIn(target);
    expect(stderr).toBe(`shoal: interrupted: ${files.length} whole files with ${10 * files.length} rows are in ${target}\n`);
    for (const file of files) expect(readFileSync(join(target, file), "utf8")).toBe(`id\n${"0\n".repeat(10)}`);
    expect(readdirSync(target)).toEqual(files);
    await until(() => processes.every((pid) => !isAlive(pid)), "all processes to be gone");
  },
  30_000,
);

test("a sink hears of an interruption, and one line says how much had been written", async () => {
  const program = start(
    "sink",
    'import { writeFileSync } from "node:fs";',
    "const sink = {",
    "  async write(batches) { for await (const { id } of batches) void id; return 1; },",
    `  onWriteFailed(error) { writeFileSync(${JSON.stringify(join(folder, "failed"))}, error.message, { flag: "a" }); },`,
    "};",
    `writeFileSync(${JSON.stringify(join(folder, "began"))}, "");`,
    "await rows.writeDatasink(sink);",
  );
  await until(() => existsSync(join(folder, "began")), "the write");
  await new Promise((resolve) => setTimeout(resolve, 500));
  const { signal, ms, stderr } = await program.interrupt("terminal");
  expect(signal).toBe("SIGINT");
  expect(ms).toBeLessThan(2000);
  expect(stderr).toMatch(
    /^shoal: interrupted: \d+ tasks? of writeDatasink had ended; what they wrote is for the sink to show or to remove\n$/,
  );
  expect(readFileSync(join(folder, "failed"), "utf8")).toBe("writeDatasink was interrupted by Ctrl-C");
}, 30_000);

test("an overwrite that is interrupted leaves the old files alone", async () => {
  const target = join(folder, "old");
  mkdirSync(target);
  writeFileSync(join(target, "part-00000-0a1b2c3d.csv"), "id\n7\n");
  const program = start("overwrite", `await rows.writeCsv(${JSON.stringify(target)}, { mode: "overwrite" });`);
  await until(() => stagedIn(target).length > 2, "the write");
  const { signal, stderr } = await program.interrupt("terminal");
  expect(signal).toBe("SIGINT");
  expect(stderr).toBe(`shoal: interrupted: 0 whole files with 0 rows are in ${target}, beside 1 file of before\n`);
  expect(readdirSync(target)).toEqual(["part-00000-0a1b2c3d.csv"]);
}, 30_000);

test("a program that is killed while it writes leaves whole files, and where it overwrites, the old ones", async () => {
  const killed = async (target: string, options: data.WriteCsvOptions, isUnderWay: () => boolean): Promise<void> => {
    const program = start(basename(target), `await rows.writeCsv(${JSON.stringify(target)}, ${JSON.stringify(options)});`);
    await until(isUnderWay, `the write to ${basename(target)}`);
    const processes = program.processes();
    program.child.kill("SIGKILL");
    await until(() => processes.every((pid) => !isAlive(pid)), "all processes to be gone");
  };
  const [added, replaced] = [join(folder, "killed-append"), join(folder, "killed-overwrite")];
  mkdirSync(replaced);
  writeFileSync(join(replaced, "part-00000-0a1b2c3d.csv"), "id\n7\n");
  await Promise.all([
    killed(added, {}, () => filesIn(added).length >= 3),
    killed(replaced, { mode: "overwrite" }, () => stagedIn(replaced).length > 4),
  ]);
  expect(filesIn(added).length).toBeGreaterThanOrEqual(3);
  for (const file of filesIn(added)) expect([file, readFileSync(join(added, file), "utf8")]).toEqual([file, `id\n${"0\n".repeat(10)}`]);
  expect(filesIn(replaced)).toEqual(["part-00000-0a1b2c3d.csv"]);
  expect(readFileSync(join(replaced, "part-00000-0a1b2c3d.csv"), "utf8")).toBe("id\n7\n");
}, 30_000);

test("a program that reads ends at once by the signal", async () => {
  const mark = join(folder, "read");
  const program = start(
    "read",
    'import { writeFileSync } from "node:fs";',
    `for await (const row of rows) writeFileSync(${JSON.stringify(mark)}, "");`,
  );
  await until(() => existsSync(mark), "a row");
  const { signal, ms, stderr } = await program.interrupt("terminal");
  expect([signal, stderr]).toEqual(["SIGINT", ""]);
  expect(ms).toBeLessThan(2000);
}, 30_000);

test("a program with a listener of its own decides itself", async () => {
  const target = join(folder, "own");
  const program = start(
    "own",
    'process.on("SIGINT", () => controller.abort(new Error("by the user")));',
    "const controller = new AbortController();",
    `await rows.writeCsv(${JSON.stringify(target)}, { signal: controller.signal }).catch((error) => console.error(error.message));`,
    "console.error(process.listenerCount('SIGINT'));",
    "process.exit(3);",
  );
  await until(() => filesIn(target).length > 0, "files");
  const { code, stderr } = await program.interrupt("program");
  expect([code, stderr]).toEqual([3, "by the user\n1\n"]);
  expect(readdirSync(target).filter((name) => name.startsWith("."))).toEqual([]);
}, 30_000);

test("a program that leaves rows unread is told of no pending call", async () => {
  const core = pathToFileURL(join(REPOSITORY, "dist", "index.js")).href;
  const program = start(
    "leaves",
    `import { remote, shutdown } from ${JSON.stringify(core)};`,
    "for await (const row of rows) break;",
    "await rows.take(3);",
    "const wait = remote(async function* () { for (;;) { await new Promise((r) => setTimeout(r, 300)); yield 1; } });",
    "for await (const one of wait.remote()) break;",
    "await shutdown();",
  );
  const [code] = (await once(program.child, "close")) as [number];
  expect([code, program.stderr()]).toEqual([0, ""]);
}, 30_000);
