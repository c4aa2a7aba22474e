/**
 * Runs a whole program as a user would and gives back how it ended: for the tests that hold programs, not parts.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { REPOSITORY } from "./source-files.ts";

export interface ProgramRun {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface ProgramOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** A program that hangs is ended by SIGKILL after this long. Default 50,000: before the test that runs it times out. */
  timeoutMs?: number;
  /** Program to run; default the Node that runs the test. */
  program?: string;
  /** Called with the process when it has been started. */
  onStart?: (child: ChildProcess) => void;
}

export function runProgram(args: readonly string[], options: ProgramOptions = {}): Promise<ProgramRun> {
  const { cwd = REPOSITORY, env = {}, timeoutMs = 50_000, program = process.execPath, onStart } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, NO_COLOR: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
    child.on("error", reject);
    child.on("close", (exitCode, signal) => resolve({ exitCode, signal, stdout, stderr }));
    onStart?.(child);
  });
}
