/**
 * A child that may outlive this process. It gets its configuration and is heard while both live, and appends its output to a file.
 *
 * A `Child` ends when the line to its parent ends; this child decides for itself (`readParentLine`).
 */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import type net from "node:net";
import { createInterface } from "node:readline";
import { childEnvironment } from "../child-environment.ts";

const PARENT_FD = 3;
/**
 * Prevents core dumps, which would contain secrets, of the process and everything that it starts, user code included. Node cannot set that
 * limit for itself, so a shell does and then becomes the process. Code that wants a core dump can still raise the limit.
 */
const WITHOUT_CORE_DUMPS = 'ulimit -S -c 0; exec "$@"';

interface DetachedOptions {
  entry: string;
  configuration: unknown;
  /** File for its outputs; appended. */
  outputFile: string;
  onMessage: (line: string) => void;
  /** How it ended, in words. */
  onExit: (how: string) => void;
}

export interface DetachedProcess {
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  /** Lets this process end while the child continues. */
  release(): void;
}

export function startDetached({ entry, configuration, outputFile, onMessage, onExit }: DetachedOptions): DetachedProcess {
  const output = openSync(outputFile, "a", 0o600);
  const program = [process.execPath, "--disable-warning=ExperimentalWarning", entry];
  const [command = "", ...args] = process.platform === "win32" ? program : ["sh", "-c", WITHOUT_CORE_DUMPS, "sh", ...program];
  const child = spawn(command, args, {
    detached: true,
    env: childEnvironment(),
    stdio: ["ignore", output, output, "pipe"],
  });
  closeSync(output);
  // Without a free descriptor there are no streams, and an error follows.
  const line = (child.stdio as typeof child.stdio | undefined)?.[PARENT_FD] as net.Socket | undefined;
  line?.on("error", () => {});
  line?.write(`${JSON.stringify(configuration)}\n`);
  if (line !== undefined) createInterface({ input: line }).on("line", onMessage);
  child.once("error", (error) => onExit(`it could not be started: ${error.message}`));
  // "close" follows the last message.
  child.once("close", (code, signal) => onExit(signal === null ? `exit code ${code ?? "unknown"}` : `signal ${signal}`));
  return {
    pid: child.pid ?? 0,
    kill: (signal) => void child.kill(signal),
    release: () => {
      child.removeAllListeners("close");
      child.unref();
      line?.destroy();
    },
  };
}
