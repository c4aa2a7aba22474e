/**
 * A test's separate temporary folder, in which programs run and sessions keep their files. So leftovers can be told from everybody else's:
 * every process that was started with the folder, every folder in it, and the sessions' shared memory.
 */
import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  type FSWatcher,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ProgramOptions, type ProgramRun, runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";

const SHARED_MEMORY = "/dev/shm";
/** For what happens by itself within a second, on a machine that has other things to do. */
const WITHIN_MS = 20_000;
/** A program is ended after this long: before the test that waits for it gives up. */
const PROGRAM_ENDS_WITHIN_MS = 50_000;
const POLL_MS = 20;

export class Sandbox {
  readonly #folder: string = mkdtempSync(join(tmpdir(), "shoal-test-"));
  /** The programs' temporary folder. */
  readonly temporary: string = join(this.#folder, "tmp");
  readonly #sessions = new Set<string>();
  readonly #watcher: FSWatcher;
  #programs = 0;

  constructor() {
    mkdirSync(this.temporary);
    mkdirSync(join(this.#folder, "node_modules"));
    symlinkSync(REPOSITORY, join(this.#folder, "node_modules", "shoal"));
    writeFileSync(join(this.#folder, "package.json"), '{ "type": "module" }');
    this.#watcher = watch(this.temporary, (_event, name) => {
      if (name?.startsWith("shoal-") === true) this.#sessions.add(name);
    });
    this.#watcher.unref();
  }

  /** Writes a TypeScript program that can import "shoal"; returns its path. */
  write(source: string): string {
    this.#programs += 1;
    const file = join(this.#folder, `program-${this.#programs}.ts`);
    writeFileSync(file, source);
    return file;
  }

  /** Runs a program to its end. */
  run(source: string, options: ProgramOptions & { execArgv?: readonly string[] } = {}): Promise<ProgramRun> {
    const { execArgv = [], env, ...others } = options;
    return runProgram([...execArgv, this.write(source)], {
      timeoutMs: PROGRAM_ENDS_WITHIN_MS,
      ...others,
      cwd: this.#folder,
      env: { TMPDIR: this.temporary, ...env },
    });
  }

  /** Starts a program that the test talks to while it runs. */
  start(source: string): StartedProgram {
    return new StartedProgram(this.write(source), { cwd: this.#folder, env: { ...process.env, NO_COLOR: "1", TMPDIR: this.temporary } });
  }

  /** Processes that were started in here and live, as "pid command". */
  processes(): { pid: number; command: string }[] {
    const found: { pid: number; command: string }[] = [];
    for (const entry of readdirSync("/proc")) {
      const pid = Number(entry);
      if (!(pid > 0) || pid === process.pid) continue;
      const environment = read(`/proc/${pid}/environ`);
      if (!environment.split("\0").includes(`TMPDIR=${this.temporary}`)) continue;
      // A process that has ended and is not yet collected by its parent has no command.
      const command = read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();
      if (command !== "") found.push({ pid, command });
    }
    return found;
  }

  /** Returns the daemons and the workers of the sandbox's sessions. */
  daemons(): number[] {
    return this.processes()
      .filter(({ command }) => /entry\/daemon|^shoal daemon/.test(command))
      .map(({ pid }) => pid);
  }

  /** Returns everything that is left of the sandbox's sessions now: processes, sockets, files, shared memory. */
  leftovers(): string[] {
    const files = readdirSync(this.temporary)
      .filter((name) => name.startsWith("shoal-"))
      .map((name) => join(this.temporary, name));
    const memory = Array.from(this.#sessions, (name) => join(SHARED_MEMORY, name)).filter((path) => existsSync(path));
    return [...this.processes().map(({ pid, command }) => `process ${pid}: ${command}`), ...files, ...memory];
  }

  /** Waits until nothing is left; returns what still is when the time is over. */
  async settled(): Promise<string[]> {
    await eventually(() => this.leftovers().length === 0);
    return this.leftovers();
  }

  /** @throws Error that lists the leftovers that are not gone within seconds */
  async mustBeEmpty(): Promise<void> {
    const left = await this.settled();
    if (left.length > 0) throw new Error(`The session left behind:\n${left.join("\n")}`);
  }

  /** Kills all processes as if at one moment: none sees another die and cleans up after it. */
  killAll(): void {
    const pids = this.processes().map(({ pid }) => pid);
    for (const signal of ["SIGSTOP", "SIGKILL"] as const) {
      for (const pid of pids) {
        try {
          process.kill(pid, signal);
        } catch {
          // The process has just ended.
        }
      }
    }
  }

  /** Ends what may be left and removes the folder. */
  remove(): void {
    this.#watcher.close();
    this.killAll();
    // A killed process may have been making a file.
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A program that runs; its output as it comes. */
class StartedProgram {
  readonly process: ChildProcess;
  readonly ended: Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>;
  stdout = "";
  stderr = "";
  /** Whether the program has ended and all of the output is here. */
  #hasClosed = false;

  constructor(file: string, options: { cwd: string; env: NodeJS.ProcessEnv }) {
    this.process = spawn(process.execPath, [file], {
      ...options,
      stdio: ["pipe", "pipe", "pipe"],
      timeout: PROGRAM_ENDS_WITHIN_MS,
      killSignal: "SIGKILL",
    });
    this.process.stdout?.setEncoding("utf8").on("data", (chunk: string) => (this.stdout += chunk));
    this.process.stderr?.setEncoding("utf8").on("data", (chunk: string) => (this.stderr += chunk));
    this.ended = new Promise((resolve) => {
      this.process.on("close", (exitCode, signal) => {
        this.#hasClosed = true;
        resolve({ exitCode, signal });
      });
    });
  }

  /** Waits until the program has printed a line that matches, and returns the first group. */
  async printed(pattern: RegExp): Promise<string> {
    const found = await eventually(() => pattern.exec(this.stdout) !== null || this.#hasClosed);
    const match = pattern.exec(this.stdout);
    if (!found || match === null) throw new Error(`The program did not print ${pattern}. It printed:\n${this.stdout}\n${this.stderr}`);
    return match[1] ?? match[0];
  }

  kill(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }
}

/** Polls until the condition holds; false when it does not within the time. */
export async function eventually(condition: () => boolean | Promise<boolean>, withinMs: number = WITHIN_MS): Promise<boolean> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    if (await condition()) return true;
    if (performance.now() > endMs) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export function isAlive(pid: number): boolean {
  return read(`/proc/${pid}/cmdline`) !== "";
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
