/**
 * Runs commands and copies files on one machine through the system's `ssh`.
 *
 * `BatchMode`, so that nothing waits for a password, and host keys are always checked. Words are quoted, as ssh gives them to a shell there.
 * Secrets go by the standard input, never on a command line. All connections of a provider share one limit.
 */
import { isDirectory, resolvePath } from "../../../../runtime/os/files/paths.ts";
import { type CommandRun, runCommand } from "../../../../runtime/os/processes/command-run.ts";
import { quoted } from "../shell-words.ts";
import type { SshAccess } from "../../config/cluster-config.ts";
import { CAUSE_LENGTH_MAX, CONNECTIONS_MAX, CONNECTS_WITHIN_SECONDS } from "./limits.ts";

/** The exit code of ssh itself. */
const SSH_FAILED = 255;

interface RunOptions {
  readonly input?: string | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Grants connections in turn. */
export class Connections {
  #free = CONNECTIONS_MAX;
  readonly #waiting: (() => void)[] = [];

  async with<T>(body: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free -= 1;
    try {
      return await body();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

export class RemoteShell {
  readonly host: string;
  readonly #access: SshAccess;
  readonly #connections: Connections;

  constructor(host: string, access: SshAccess, connections: Connections) {
    this.host = host;
    this.#access = access;
    this.#connections = connections;
  }

  /** Runs a program there. */
  async run(words: readonly string[], { input, timeoutMs, signal }: RunOptions): Promise<CommandRun> {
    const args = [...this.#options(), this.host, words.map(quoted).join(" ")];
    return await this.#connections.with(() => runCommand("ssh", args, { input, timeoutMs, signal }));
  }

  /** Copies a file or the contents of a folder to a path there, by tar. */
  async copy({ from, to, exclude }: { from: string; to: string; exclude: readonly string[] }, options: RunOptions): Promise<CommandRun> {
    const path = to.startsWith("~/") ? `"$HOME"/${quoted(to.slice(2))}` : quoted(to);
    const isFolder = isDirectory(from);
    const program = isFolder ? "tar" : "cat";
    const excluded = exclude.map((pattern) => `--exclude=${pattern}`);
    const args = isFolder ? ["-C", from, ...excluded, "-cf", "-", "."] : ["--", resolvePath(from)];
    // A file is complete before it has its name.
    const take = isFolder
      ? `mkdir -p ${path} && tar -C ${path} -xf -`
      : `mkdir -p "$(dirname ${path})" && cat >${path}.new && mv ${path}.new ${path}`;
    const remote = ["sh", "-c", take].map(quoted).join(" ");
    const { timeoutMs, signal } = options;
    return await this.#connections.with(() =>
      runCommand("ssh", [...this.#options(), this.host, remote], { from: { program, args }, timeoutMs, signal }),
    );
  }

  #options(): string[] {
    const { user, privateKey, proxyCommand, configFile } = this.#access;
    return [
      ...(configFile === undefined ? [] : ["-F", configFile]),
      "-T",
      ...["BatchMode=yes", "StrictHostKeyChecking=yes", `ConnectTimeout=${CONNECTS_WITHIN_SECONDS}`].flatMap((option) => ["-o", option]),
      ...["ServerAliveInterval=10", "ServerAliveCountMax=3", "LogLevel=ERROR"].flatMap((option) => ["-o", option]),
      ...(user === undefined ? [] : ["-l", user]),
      ...(privateKey === undefined ? [] : ["-i", privateKey, "-o", "IdentitiesOnly=yes"]),
      ...(proxyCommand === undefined ? [] : ["-o", `ProxyCommand=${proxyCommand}`]),
      "--",
    ];
  }
}

/** Whether ssh did not reach the machine, or was not let in. */
export function isUnreachable({ exitCode }: CommandRun): boolean {
  return exitCode === SSH_FAILED || exitCode === undefined;
}

/** The end of a failed command's output, or why there is none. */
export function causeOf({ exitCode, stderr, stdout, problem }: CommandRun): string {
  const said = (stderr.trim() === "" ? stdout : stderr).trim().slice(-CAUSE_LENGTH_MAX);
  const how = problem ?? `exit code ${exitCode}`;
  return said === "" ? how : `${how}: ${said}`;
}
