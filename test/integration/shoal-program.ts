/**
 * The program `shoal` for tests: run from `dist` with separate folders, which tell its processes apart from everything else on the machine.
 * Each test checks that nothing is left.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect } from "vitest";
import { type ProgramRun, runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { isAlive, until, useFolder } from "./session.ts";

export const SHOAL: string = join(REPOSITORY, "dist", "ops", "cli", "main.js");

interface Facts {
  address: string;
  /** Addresses of the cluster's heads, its own first. */
  heads: string[];
  nodeId: string;
  joinToken: string;
  isContinued?: boolean;
  logs: string;
  history?: string;
  dashboardUrl: string;
}

interface RunFile {
  pid: number;
  role: string;
  address: string;
  processes: { what: string; pid: number }[];
}

interface ShoalProgram {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  run(...args: string[]): Promise<ProgramRun>;
  /** As on a machine that sees no file of this one. */
  runElsewhere(...args: string[]): Promise<ProgramRun>;
  startHead(...args: string[]): Promise<Facts>;
  join(head: Facts, ...args: string[]): Promise<Facts>;
  /** Runs a program and returns its output, read as JSON. */
  program(text: string, env?: Record<string, string>): Promise<unknown>;
  runFiles(): RunFile[];
  /** 0 where it does not run. */
  pidOf(what: string): number;
  /** All processes that these tests started. */
  processes(): number[];
}

/**
 * @param env variables besides; without any there is no nats-server
 * @param options.endsAfterAll whether all tests of the file share their processes; default: each test ends its own
 */
export function useShoal(env: Record<string, string> = {}, { endsAfterAll = false }: { endsAfterAll?: boolean } = {}): ShoalProgram {
  const folder = useFolder();
  const temporary = join(folder, "t");
  mkdirSync(temporary);
  const environment = {
    XDG_STATE_HOME: join(folder, "state"),
    XDG_CACHE_HOME: join(folder, "cache"),
    TMPDIR: temporary,
    SHOAL_NATS_BIN: "",
    PATH: "/usr/bin:/bin",
    ...env,
  };
  const memoryBefore = sharedMemory();
  const run = (...args: string[]): Promise<ProgramRun> => runProgram([SHOAL, ...args], { cwd: folder, env: environment });
  const elsewhere = join(folder, "e");
  mkdirSync(elsewhere);
  const otherEnvironment = { ...environment, XDG_STATE_HOME: join(elsewhere, "state"), TMPDIR: elsewhere };
  const startJson = async (...args: string[]): Promise<Facts> => {
    const { exitCode, stdout, stderr } = await run("start", "--json", ...args);
    expect([exitCode, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout) as Facts;
  };

  function runFiles(): RunFile[] {
    const runs = join(temporary, `shoal-runs-${process.getuid?.() ?? 0}`);
    if (!existsSync(runs)) return [];
    return readdirSync(runs).flatMap((name) => {
      if (!name.endsWith(".json")) return [];
      try {
        return [JSON.parse(readFileSync(join(runs, name), "utf8")) as RunFile];
      } catch (error) {
        // The file was removed meanwhile.
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
        throw error;
      }
    });
  }

  /** The sandbox's temporary folder is in the environment of all its processes. */
  function processes(): number[] {
    return readdirSync("/proc").flatMap((name) => {
      if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
      try {
        const variables = readFileSync(`/proc/${name}/environ`, "utf8");
        return variables.includes(`TMPDIR=${temporary}\0`) && isAlive(Number(name)) ? [Number(name)] : [];
      } catch {
        return [];
      }
    });
  }

  async function program(text: string, more: Record<string, string> = {}): Promise<unknown> {
    const file = join(REPOSITORY, "test", "integration", `.program-${process.pid}-${Math.random()}.ts`);
    writeFileSync(file, text);
    try {
      const { exitCode, stdout, stderr } = await runProgram([file], { env: { ...environment, ...more } });
      if (exitCode !== 0) throw new Error(`the program failed: ${stderr}`);
      return JSON.parse(stdout) as unknown;
    } finally {
      rmSync(file);
    }
  }

  (endsAfterAll ? afterAll : afterEach)(async () => {
    await run("stop", "--force", "--all");
    await until(() => processes().length === 0, "all processes to end");
    const left = [
      ...runFiles().map(({ pid }) => `the file of the supervisor ${pid}`),
      ...readdirSync(temporary),
      ...sharedMemory().filter((name) => !memoryBefore.includes(name) && existsSync(`/dev/shm/${name}/owner`) && isOfNobody(name)),
    ];
    if (left.length > 0) throw new Error(`left behind: ${left.join(", ")}`);
  });

  return {
    folder,
    environment,
    run,
    runElsewhere: (...args) => runProgram([SHOAL, ...args], { cwd: folder, env: otherEnvironment }),
    startHead: (...args) => startJson("--head", "--port", "0", "--num-cpus", "1", ...args),
    join: (head, ...args) => startJson("--address", head.address, "--token", head.joinToken, ...args),
    program,
    runFiles,
    pidOf: (what) =>
      runFiles()
        .flatMap((file) => file.processes)
        .find((found) => found.what.startsWith(what))?.pid ?? 0,
    processes,
  };
}

function sharedMemory(): string[] {
  return readdirSync("/dev/shm").filter((name) => name.startsWith("shoal-"));
}

/** Other tests run at the same time. */
function isOfNobody(name: string): boolean {
  try {
    const owners = readFileSync(`/dev/shm/${name}/owner`, "utf8").split("\n");
    return owners.every((line) => line === "" || !isAlive(Number(line.split(" ")[0])));
  } catch {
    // The process has gone meanwhile.
    return false;
  }
}
