/**
 * A driver's code on a node that has none of the driver's files: programs in separate folders, two nodes on this machine, actors and their
 * tasks on the node that is not the driver's. A program prints its findings there as one line of JSON.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { TestCluster } from "shoal/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { until } from "./session.ts";

let root: string;
let cluster: TestCluster;

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "test-shoal-code-")));
  cluster = await TestCluster.start({ head: { numCpus: 2 } });
  await cluster.addNode({ numCpus: 4, resources: { other: 100 }, sharesFolders: false });
});
afterAll(async () => {
  await cluster?.shutdown();
  rmSync(root, { recursive: true, force: true });
});

/** Start of each program: `Runner` runs a function on the other node. */
const HEAD = `import { init, remote, get, getRuntimeContext, shutdown } from ${JSON.stringify(pathToFileURL(join(REPOSITORY, "dist", "index.js")).href)};
await init({ address: process.env["SHOAL_TEST_ADDRESS"], ...globalThis.initOptions });
class Runner {
  async run(work, ...args) { return await work(...args); }
}
const runner = (options = {}) => remote(Runner).options({ resources: { other: 1 }, ...options }).remote();
const failure = (error) => error === undefined ? "ran" : [error.name, error.message + " " + (error.cause?.message ?? "") + " " + (error.cause?.hint ?? error.hint ?? ""), error.stack];
const say = (value) => console.log("SAYS " + JSON.stringify(value));
`;

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // A session that has just ended.
    return [];
  }
}

/** A folder with the files of a program. */
function project(name: string, files: Record<string, string>): string {
  const folder = join(root, name);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), path === "main.ts" ? `${HEAD}${text}\nawait shutdown();` : text);
  }
  return folder;
}

/** Runs `main.ts` in the folder and returns its printed value. */
async function run(folder: string): Promise<unknown> {
  const env = { ...process.env, SHOAL_TEST_ADDRESS: cluster.address };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["main.ts"], { cwd: folder, env, timeout: 50_000 });
  const said = /^SAYS (.*)$/m.exec(stdout)?.[1];
  if (said === undefined) throw new Error(`it said nothing, but ${stdout} ${stderr}`);
  return JSON.parse(said);
}

describe("an actor on the other node", () => {
  test("runs in a copy of the driver's folder, with its files, what it imports and its job", async () => {
    const folder = project("files", {
      "main.ts": `import { words } from "./src/words.ts";
        const job = () => { const { jobId, namespace, runtimeEnv } = getRuntimeContext(); return [jobId, namespace, runtimeEnv]; };
        const seen = await runner().run.remote(async () => [words(), process.cwd(), job(), (await import("./src/words.ts")).words(), import.meta.url]);
        say([seen, job(), process.cwd()]);`,
      "src/words.ts": `import { readFileSync } from "node:fs"; export function words(): string { return readFileSync("data.txt", "utf8"); }`,
      "data.txt": "from the driver",
    });
    const [[words, cwd, job, imported, url], own, driverCwd] = (await run(folder)) as [unknown[], unknown, string];
    expect([words, imported, job]).toEqual(["from the driver", "from the driver", own]);
    expect(driverCwd).toBe(folder);
    expect(cwd).not.toBe(folder);
    expect(url).toBe(pathToFileURL(join(cwd as string, "main.ts")).href);
  });

  test("has its environment from there, and so has what it submits", async () => {
    const folder = project("variables", {
      "main.ts": `const options = { runtimeEnv: { envVars: { SHOAL_TEST_HERE: "yes" } } };
        const nested = await runner(options).run.remote(async () => [process.env.SHOAL_TEST_HERE, await runner().run.remote(() => process.env.SHOAL_TEST_HERE)]);
        say([nested, await runner().run.remote(() => process.env.SHOAL_TEST_HERE ?? "no")]);`,
    });
    expect(await run(folder)).toEqual([["yes", "yes"], "no"]);
  });

  test("runs in a folder that its options name, without what they exclude", async () => {
    const folder = project("named", {
      "main.ts": `const options = { runtimeEnv: { workingDir: "./data", excludes: ["*.log"] } };
        say(await runner(options).run.remote(() => process.getBuiltinModule("node:fs").readdirSync(".").sort()));`,
      "data/a.txt": "a",
      "data/b.log": "b",
    });
    expect(await run(folder)).toEqual(["a.txt"]);
  });

  test("fails with the user's own lines in the stack", async () => {
    const folder = project("stack", {
      "main.ts": `import { fail } from "./src/fail.ts";
        say(failure(await runner().run.remote(() => fail()).then(() => undefined, (error) => error)));`,
      "src/fail.ts": `export function fail(): never {\n  throw new RangeError("too far");\n}`,
    });
    const [, , stack] = (await run(folder)) as string[];
    expect(stack).toContain(`${join(folder, "src/fail.ts")}:2`);
    expect(stack).toContain(join(folder, "main.ts"));
    expect(stack).not.toContain("environment-");
  });
});

describe("what is not the same on both sides is said with both:", () => {
  const failed = `say(failure(await runner().run.remote(() => use()).then(() => undefined, (error) => error)));`;

  test("a package that only the driver has", async () => {
    // Elsewhere than the driver's path: the other node is this machine, and would find it there.
    const folder = project("missing", {
      "main.ts": `import { use } from "./src/use.ts"; import { renameSync } from "node:fs"; renameSync("node_modules", "../modules-of-missing"); ${failed}`,
      "src/use.ts": `import value from "shoal-test-package"; export function use(): string { return value; }`,
      "package.json": `{ "dependencies": { "shoal-test-package": "*" } }`,
      "node_modules/shoal-test-package/package.json": `{ "name": "shoal-test-package", "version": "1.2.3", "type": "module", "exports": "./index.js" }`,
      "node_modules/shoal-test-package/index.js": "export default 1;",
    });
    const [, message] = (await run(folder)) as string[];
    expect(message).toMatch(
      /src\/use\.ts of the driver's node \w{8} \(.*\) imports the package shoal-test-package, which is not installed on node \w{8} \(.*\)/,
    );
    expect(message).toMatch(/runtimeEnv: \{ nodeModules: \["shoal-test-package/);
  });

  test("a file that git ignores", async () => {
    const folder = project("ignored", {
      "main.ts": `import { use } from "./dist/use.ts"; ${failed}`,
      "dist/use.ts": "export function use(): string { return 1; }",
      ".gitignore": "dist/\n",
    });
    const [, message] = (await run(folder)) as string[];
    expect(message).toMatch(
      /dist\/use\.ts.* is not among the files that travelled from the driver's node \w{8} .* to node \w{8}.*!dist\/use\.ts/s,
    );
    writeFileSync(join(folder, ".shoalignore"), "!dist/\n");
    expect(await run(folder)).toBe("ran");
  });

  test("a folder that is too large", async () => {
    const folder = project("large", { "main.ts": `const use = () => 1; ${failed}` });
    writeFileSync(join(folder, "large.bin"), "");
    truncateSync(join(folder, "large.bin"), 600 * 1024 * 1024);
    const [name, message] = (await run(folder)) as string[];
    expect(name).toBe("RuntimeEnvError");
    expect(message).toMatch(
      /the folder .*large of node \w{8} \(.*could not be brought to node \w{8} .*large\.bin \(629\.1 MB\).*\.shoalignore/s,
    );
  });
});

test("two jobs share no worker, and leave nothing", async () => {
  const text = `const pids = await get(Array.from({ length: 2 }, () => runner().run.remote(() => process.pid)));
    const local = await remote(() => process.pid).remote();
    say([...pids, local]);`;
  const [one, two] = await Promise.all([run(project("one", { "main.ts": text })), run(project("two", { "main.ts": text }))]);
  expect(new Set([...(one as number[]), ...(two as number[])]).size).toBe(6);
  const environments = (): string[] =>
    readdirSync(tmpdir())
      .filter((name) => name.startsWith("shoal-") && existsSync(join(tmpdir(), name, "daemon")))
      .flatMap((name) => namesIn(join(tmpdir(), name)).filter((entry) => entry.startsWith("environment-")));
  await until(() => environments().length === 0, "the environments of ended jobs to go");
});

test("the first task of a job need not wait for a process to start", async () => {
  const folder = project("spare", {
    "main.ts": `const worker = await remote(() => [process.uptime(), process.cwd(), getRuntimeContext().jobId]).remote();
      say([...worker, process.uptime(), getRuntimeContext().jobId]);`,
  });
  await until(async () => {
    const [worker, cwd, job, driver, driverJob] = (await run(folder)) as [number, string, string, number, string];
    expect([cwd, job]).toEqual([folder, driverJob]);
    return worker > driver;
  }, "a worker that started before the driver");
});
