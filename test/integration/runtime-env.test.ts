/** Runtime environments on real processes: variables, working directories, npm packages, who inherits what, and what happens when one cannot be built. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { get, getRuntimeContext, init, type RuntimeEnv, RuntimeEnvError, remote, shutdown } from "shoal";
import { afterEach, describe, expect, test } from "vitest";
import { failureOf, shoalProcesses, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();

const variable = (name: string): string | undefined => process.env[name];

describe("environment variables", () => {
  useSession({ numCpus: 2, runtimeEnv: { envVars: { SHOAL_TEST_JOB: "job", SHOAL_TEST_BOTH: "job" } } });

  const read = remote(variable);

  test("of the job are in every task", async () => {
    expect(await read.remote("SHOAL_TEST_JOB")).toBe("job");
  });

  test("of a task are merged into those of the job, and are that task's alone", async () => {
    const own = read.options({ runtimeEnv: { envVars: { SHOAL_TEST_BOTH: "task", SHOAL_TEST_TASK: "task" } } });
    expect(await get(["SHOAL_TEST_JOB", "SHOAL_TEST_BOTH", "SHOAL_TEST_TASK"].map((name) => own.remote(name)))).toEqual([
      "job",
      "task",
      "task",
    ]);
    expect(await get([read.remote("SHOAL_TEST_BOTH"), read.remote("SHOAL_TEST_TASK")])).toEqual(["job", undefined]);
  });

  test("may contain the node's own", async () => {
    const path = await read.options({ runtimeEnv: { envVars: { SHOAL_TEST_PATH: "/opt/bin:${PATH}" } } }).remote("SHOAL_TEST_PATH");
    expect(path).toBe(`/opt/bin:${process.env["PATH"]}`);
  });

  test("are inherited by what a task submits", async () => {
    const parent = remote(
      async (): Promise<[string | undefined, RuntimeEnv]> => [
        await remote((name: string) => process.env[name]).remote("SHOAL_TEST_NESTED"),
        getRuntimeContext().runtimeEnv,
      ],
      { runtimeEnv: { envVars: { SHOAL_TEST_NESTED: "yes" } } },
    );
    expect(await parent.remote()).toEqual([
      "yes",
      { envVars: { SHOAL_TEST_JOB: "job", SHOAL_TEST_BOTH: "job", SHOAL_TEST_NESTED: "yes" } },
    ]);
  });

  test("of an actor are there from its constructor on, and after a restart", async () => {
    class Reader {
      readonly #atStart = process.env["SHOAL_TEST_ACTOR"];
      seen(): (string | undefined)[] {
        return [this.#atStart, process.env["SHOAL_TEST_ACTOR"]];
      }
      die(): void {
        process.kill(process.pid, "SIGKILL");
      }
    }
    const options = { runtimeEnv: { envVars: { SHOAL_TEST_ACTOR: "a" } }, maxRestarts: 1, maxTaskRetries: 1 };
    using reader = remote(Reader).options(options).remote();
    expect(await reader.seen.remote()).toEqual(["a", "a"]);
    await failureOf(reader.die.options({ maxTaskRetries: 0 }).remote());
    expect(await reader.seen.remote()).toEqual(["a", "a"]);
  });

  test("workers of one environment are reused, and make room for others", async () => {
    const pids = new Set<number>();
    for (let turn = 0; turn < 6; turn += 1) {
      const own = remote(() => process.pid, { runtimeEnv: { envVars: { SHOAL_TEST_TURN: String(turn % 2) } } });
      pids.add(await own.remote());
      expect(await own.remote()).toBe(await own.remote());
    }
    await until(() => shoalProcesses({ kind: "worker" }).length <= 5, "the workers that made room to be gone");
  });
});

describe("working directories", () => {
  useSession({ numCpus: 2 });

  function project(name: string): string {
    const path = join(folder, name);
    mkdirSync(join(path, "node_modules", "inner"), { recursive: true });
    writeFileSync(join(path, "data.txt"), "from the project");
    writeFileSync(join(path, "secret.log"), "not for others");
    writeFileSync(join(path, ".gitignore"), "*.log\n");
    writeFileSync(join(path, "node_modules", "inner", "package.json"), '{ "name": "inner", "main": "index.js" }');
    writeFileSync(join(path, "node_modules", "inner", "index.js"), 'module.exports = "the inner package";');
    return path;
  }

  test("are copies in which the worker runs", async () => {
    const workingDir = project("copied");
    const look = remote(
      () => ({
        cwd: process.cwd(),
        data: readFileSync("data.txt", "utf8"),
        hasLog: existsSync("secret.log"),
        isLinked: existsSync("node_modules/inner"),
      }),
      { runtimeEnv: { workingDir } },
    );
    const seen = await look.remote();
    expect(seen).toMatchObject({ data: "from the project", hasLog: false, isLinked: true });
    expect(seen.cwd).not.toBe(workingDir);
    const write = remote(() => writeFileSync("data.txt", "changed by a task"), { runtimeEnv: { workingDir } });
    await write.remote();
    expect(readFileSync(join(workingDir, "data.txt"), "utf8")).toBe("from the project");
  });

  test("that do not exist are refused where they are written", () => {
    expect(() => remote(variable, { runtimeEnv: { workingDir: join(folder, "nowhere") } })).toThrow(
      /Cannot set runtimeEnv of a task: workingDir names no folder: .*nowhere/,
    );
  });
});

describe("npm packages", () => {
  useSession({ numCpus: 2 });
  const packages = join(folder, "packages");

  /** A project with one package, which is packed here: nothing is downloaded. */
  function withLockfile(name: string, version: string): string {
    const source = join(packages, `${name}-${version}`);
    const path = join(packages, `project-${name}-${version}`);
    for (const place of [source, path]) mkdirSync(place, { recursive: true });
    writeFileSync(join(source, "package.json"), JSON.stringify({ name, version, main: "index.js" }));
    writeFileSync(join(source, "index.js"), `module.exports = "${name} ${version}";`);
    execFileSync("tar", ["-czf", join(packages, `${name}.tgz`), "--transform", "s,^,package/,", "-C", source, "package.json", "index.js"]);
    const resolved = `file:${join(packages, `${name}.tgz`)}`;
    const project = { name: "project", version: "1.0.0", dependencies: { [name]: resolved } };
    writeFileSync(join(path, "package.json"), JSON.stringify(project));
    const locked = { "": project, [`node_modules/${name}`]: { version, resolved } };
    writeFileSync(
      join(path, "package-lock.json"),
      JSON.stringify({ name: "project", version: "1.0.0", lockfileVersion: 3, packages: locked }),
    );
    return path;
  }

  test("are found before all others, by import and by require", async () => {
    const nodeModules = withLockfile("shoal-test-pinned", "1.2.3");
    const use = remote(
      async (): Promise<unknown[]> => {
        const name = "shoal-test-pinned";
        const { createRequire } = await import("node:module");
        return [((await import(name)) as { default: unknown }).default, createRequire("/")(name)];
      },
      { runtimeEnv: { nodeModules, envVars: { XDG_CACHE_HOME: join(folder, "cache") } } },
    );
    expect(await use.remote()).toEqual(["shoal-test-pinned 1.2.3", "shoal-test-pinned 1.2.3"]);
  });

  test("that npm cannot install fail the calls with npm's own words, and only those", async () => {
    const path = withLockfile("shoal-test-broken", "1.0.0");
    writeFileSync(join(path, "package-lock.json"), "{ this is no lockfile");
    const runtimeEnv = { nodeModules: path };
    const failure = await failureOf(remote(variable, { runtimeEnv }).remote("PATH"));
    expect(failure).toBeInstanceOf(RuntimeEnvError);
    expect((failure as Error).message).toMatch(
      /its runtime environment could not be set up: npm ci ended with code 1; it printed:\n.*lock/s,
    );
    class Nobody {
      hello(): string {
        return "hello";
      }
    }
    using nobody = remote(Nobody, { runtimeEnv }).remote();
    expect(await failureOf(nobody.hello.remote())).toBeInstanceOf(RuntimeEnvError);
    expect(await remote((a: number, b: number) => a + b).remote(1, 2)).toBe(3);
  });

  test("workers that cannot start in it end it instead of being started without end", async () => {
    const broken = remote(variable, { runtimeEnv: { envVars: { NODE_OPTIONS: "--no-such-option" } } });
    const failure = await failureOf(broken.remote("PATH"));
    expect(failure).toBeInstanceOf(RuntimeEnvError);
    expect((failure as Error).message).toMatch(/3 workers of it died at their start.*--no-such-option/s);
  });
});

describe("in one process", () => {
  afterEach(() => shutdown());

  test("an environment is refused by name", async () => {
    await init({ mode: "inProcess" });
    const task = remote(variable, { runtimeEnv: { envVars: { A: "1" } } });
    expect(() => task.remote("A")).toThrow(/Cannot use runtimeEnv in this session: everything runs in one process/);
  });
});

describe("the Node of workers", () => {
  useSession({ numCpus: 2 });

  test("has the flags of the environment, after the driver's", async () => {
    const flags = remote(() => [process.execArgv.includes("--expose-gc"), typeof (globalThis as { gc?: unknown }).gc]);
    expect(await flags.remote()).toEqual([false, "undefined"]);
    expect(await flags.options({ runtimeEnv: { execArgv: ["--expose-gc"] } }).remote()).toEqual([true, "function"]);
    const heap = remote(async () => {
      const { getHeapStatistics } = await import("node:v8");
      return Math.round(getHeapStatistics().heap_size_limit / 2 ** 20);
    });
    expect(await heap.options({ runtimeEnv: { execArgv: ["--max-old-space-size=1000"] } }).remote()).toBeLessThan(1200);
  });

  test("is the program that the environment names", async () => {
    const program = join(folder, "own-node");
    symlinkSync(process.execPath, program);
    class Holder {
      title(): string {
        return process.argv0;
      }
    }
    using holder = remote(Holder)
      .options({ runtimeEnv: { execPath: program } })
      .remote();
    expect(await holder.title.remote()).toBe(program);
  });

  test("is checked before a worker starts", async () => {
    const old = join(folder, "old-node");
    writeFileSync(old, '#!/bin/sh\necho \'{"node":"20.11.0"}\'\n', { mode: 0o755 });
    const other = join(folder, "no-node");
    writeFileSync(other, "#!/bin/sh\necho hello\n", { mode: 0o755 });
    for (const [execPath, reason] of [
      [old, `execPath is Node 20.11.0 (${old}): version 22.18 or later is needed`],
      [other, `execPath is no Node: ${other}`],
      [join(folder, "missing"), "execPath cannot be run on this machine"],
    ] as const) {
      const error = await failureOf(remote(() => 1, { runtimeEnv: { execPath } }).remote());
      expect(error).toBeInstanceOf(RuntimeEnvError);
      expect((error as Error).message).toContain(reason);
    }
  });
});
