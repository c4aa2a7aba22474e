/** This program once more, as a child with the same terminal: for a parent that starts it again and again. */
import { spawn } from "node:child_process";

interface SameProgram {
  /** Resolves with the exit code; undefined where a signal ended it. */
  readonly ended: Promise<number | undefined>;
  /** Asks it to end in order. */
  stop(): void;
}

/** @param args in place of this process' own */
export function startSameProgram(args: readonly string[]): SameProgram {
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] as string, ...args], { stdio: "inherit" });
  return {
    ended: new Promise((resolve) => {
      child.once("error", () => resolve(undefined));
      child.once("exit", (code) => resolve(code ?? undefined));
    }),
    stop: () => void child.kill("SIGTERM"),
  };
}
