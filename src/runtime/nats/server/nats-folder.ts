/**
 * Owns the folder of one nats-server: its layout, its cluster, and the lock against a second server.
 *
 * Decides that a folder belongs to one cluster for good, known by its name and its authority: another's state under this cluster's keys would be half readable and wholly
 * wrong. NATS itself does not lock its state, and two servers on it destroy it, so the number of the server that runs is kept here. Mode 0700: state, keys and logs.
 */
import { readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { FREE_BYTES_MIN } from "./limits.ts";
import { diskFull, fullDiskText, NatsServerFailedError } from "./nats-failures.ts";
import { makePrivateFolder, readPrivateFile, writePrivateFile } from "../../os/files/private-files.ts";

interface NatsIdentity {
  readonly cluster: string;
  /** Public key of the account with the state; "" if servers ask for a token only. */
  readonly account: string;
}

/** A server whose owner was killed is killed by its guard within milliseconds. */
const PREDECESSOR_ENDS_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 50;

export class NatsFolder {
  readonly path: string;

  /** Makes the folder if it is not there. @throws NatsServerFailedError when it is another cluster's, or its disk is full; OpenSecretError */
  constructor(path: string, identity: NatsIdentity) {
    this.path = path;
    makePrivateFolder(path);
    const freeBytes = this.freeBytes();
    if (freeBytes < FREE_BYTES_MIN) throw diskFull(path, freeBytes);
    this.#claimFor(identity);
  }

  get state(): string {
    return join(this.path, "state");
  }

  get ports(): string {
    return join(this.path, "ports");
  }

  get logFile(): string {
    return join(this.path, "nats.log");
  }

  get configurationFile(): string {
    return join(this.path, "nats.conf");
  }

  file(name: string): string {
    return join(this.path, name);
  }

  freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Waits for a server that is just ending. @throws NatsServerFailedError when one keeps running on this folder */
  async awaitUnused(signal?: AbortSignal): Promise<void> {
    const giveUpAt = performance.now() + PREDECESSOR_ENDS_WITHIN_MS;
    for (;;) {
      const pid = this.#runningServer();
      if (pid === undefined) return;
      if (signal?.aborted === true || performance.now() > giveUpAt) {
        throw new NatsServerFailedError(
          `Cannot run a NATS server: ${this.path} is in use by the nats-server with the process number ${pid}.`,
          {
            reason: "folder in use",
            hint: `Two servers on one folder destroy it. End the other head, or choose another folder; when no head owns process ${pid}, end it.`,
            details: { pid },
          },
        );
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  writeServerPid(pid: number): void {
    writeFileSync(this.file("nats.pid"), String(pid), { mode: 0o600 });
  }

  removeServerPid(): void {
    rmSync(this.file("nats.pid"), { force: true });
  }

  #runningServer(): number | undefined {
    let pid: number;
    try {
      pid = Number(readFileSync(this.file("nats.pid"), "utf8"));
    } catch {
      return undefined;
    }
    // The number may be another process' by now; a server of this folder names its configuration.
    return pid > 1 && commandLineOf(pid).includes(this.configurationFile) ? pid : undefined;
  }

  #claimFor(identity: NatsIdentity): void {
    const file = this.file("cluster.json");
    const text = readPrivateFile(file);
    if (text === undefined) return writePrivateFile(file, `${JSON.stringify(identity)}\n`);
    const found = readIdentity(text, file);
    if (found.cluster === identity.cluster && found.account === identity.account) return;
    const what =
      found.cluster === identity.cluster
        ? `an earlier cluster of the name "${found.cluster}", with other keys`
        : `the cluster "${found.cluster}", and this is "${identity.cluster}"`;
    throw new NatsServerFailedError(`Cannot run a NATS server: the state in ${this.path} is that of ${what}.`, {
      reason: "data directory of another cluster",
      hint: "Choose another folder or the other cluster's name and keys; remove the folder if that cluster is to be forgotten.",
      details: { found },
    });
  }
}

function readIdentity(text: string, file: string): NatsIdentity {
  try {
    const { cluster, account } = JSON.parse(text) as Partial<NatsIdentity>;
    if (typeof cluster === "string" && typeof account === "string") return { cluster, account };
  } catch {
    // Said below.
  }
  throw new NatsServerFailedError(`Cannot run a NATS server: ${file} does not say whose folder it is.`, {
    reason: "data directory of another cluster",
    hint: "Choose another folder.",
  });
}

function commandLineOf(pid: number): string {
  try {
    if (process.platform === "linux") return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    if (process.platform === "win32") return "";
    return execFileSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return "";
  }
}

/** Why a server that keeps its state below a folder can store nothing, if the disk is the cause. */
export function diskProblem(path: string): string | undefined {
  const { bavail, bsize } = statfsSync(path);
  const freeBytes = bavail * bsize;
  return freeBytes < FREE_BYTES_MIN ? fullDiskText(path, freeBytes) : undefined;
}
