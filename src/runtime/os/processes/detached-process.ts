/**
 * A child that may outlive this process: it is told its configuration and heard as long as both live, and writes what nobody reads to a file.
 *
 * Unlike `Child`, whose end of the line is the end of its parent, what this child makes of that end is its own decision (`readParentLine`).
 */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import type net from "node:net";
import { createInterface } from "node:readline";
import { childEnvironment } from "./child-environment.ts";

const PARENT_FD = 3;
/**
 * A process that is ended by a fault leaves no image of its memory, with the secrets in it, and neither does any that it starts, those that run the user's code included. Node cannot
 * say that of itself; the shell does, and becomes the process. Code that wants such an image of its own can still raise the limit.
 */
const WITHOUT_CORE_DUMPS = 'ulimit -S -c 0; exec "$@"';

interface DetachedOptions {
  entry: string;
  configuration: unknown;
  /** For whatever it writes to its outputs; appended. */
  outputFile: string;
  onMessage: (line: string) => void;
  /** How it ended, in words. */
  onExit: (how: string) => void;
}

export interface DetachedProcess {
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  /** This process may end, and the child goes on. */
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
  // Without a free descriptor there are no streams, and an error comes.
  const line = (child.stdio as typeof child.stdio | undefined)?.[PARENT_FD] as net.Socket | undefined;
  line?.on("error", () => {});
  line?.write(`${JSON.stringify(configuration)}\n`);
  if (line !== undefined) createInterface({ input: line }).on("line", onMessage);
  child.once("error", (error) => onExit(`it could not be started: ${error.message}`));
  // "close" comes after its last message.
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
