/**
 * Lets one process at a time write into a folder, on whatever machine it runs.
 *
 * A record in the folder names the owner, who renews it. On the owner's machine the process itself tells whether it lives, so a killed one is replaced at once; elsewhere a record
 * that was not renewed for a minute counts as a dead one's. Storages have no common lock, so whoever claims writes its record and reads it back a little later: of two who claim
 * together one finds the other's. An owner that was frozen for longer than that finds it at its next renewal, and `lost` aborts.
 */
import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { StorageError } from "./errors.ts";
import { fileExists, writeWhole } from "./folders.ts";
import { CLAIM_PAUSE_MS, OWNER_RENEWED_EVERY_MS, OWNER_SILENCE_MS_MAX } from "./limits.ts";
import { joinPath, shownPath } from "./paths.ts";
import { removeFiles } from "./places.ts";
import { readWhole } from "./read-file.ts";

const RECORD = ".owner.json";

interface Owner {
  readonly token: string;
  readonly host: string;
  /** Tells machines and containers of one name apart. */
  readonly system: string;
  readonly pid: number;
  /** Tells processes of one id apart. */
  readonly started: string;
  readonly renewedAt: number;
}

export class FolderOwner implements AsyncDisposable {
  readonly #path: string;
  readonly #owner: Omit<Owner, "renewedAt">;
  readonly #lost = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #renewal: Promise<void> = Promise.resolve();
  #isReleased = false;

  private constructor(path: string, owner: Omit<Owner, "renewedAt">) {
    this.#path = path;
    this.#owner = owner;
  }

  /**
   * Claims a folder that is there.
   *
   * @param what - in messages: `the run "mnist"`
   * @throws StorageError while another process has it
   */
  static async claim(folder: string, what: string): Promise<FolderOwner> {
    const path = joinPath(folder, RECORD);
    const other = await ownerAt(path);
    if (other !== undefined && isAlive(other)) throw taken(what, other, folder);
    const owner = new FolderOwner(path, { token: randomUUID(), host: hostname(), ...thisProcess() });
    await owner.#write();
    await new Promise((resolve) => setTimeout(resolve, CLAIM_PAUSE_MS));
    const found = await ownerAt(path);
    if (found?.token !== owner.#owner.token) throw found === undefined ? gone(what, folder) : taken(what, found, folder);
    owner.#schedule();
    return owner;
  }

  /** Aborts when another process has taken the folder: nothing more may be written to it. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    clearTimeout(this.#timer);
    await this.#renewal;
    if (!this.#lost.signal.aborted) await removeFiles([this.#path]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  async #write(): Promise<void> {
    await writeWhole(this.#path, Buffer.from(JSON.stringify({ ...this.#owner, renewedAt: Date.now() } satisfies Owner)));
  }

  #schedule(): void {
    if (this.#isReleased || this.#lost.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#renewal = this.#renew().then(() => this.#schedule());
    }, OWNER_RENEWED_EVERY_MS);
    this.#timer.unref();
  }

  /** A storage that fails for a while takes nothing away: the next renewal tries again. */
  async #renew(): Promise<void> {
    const found = await ownerAt(this.#path).catch(() => "unknown" as const);
    if (found === "unknown") return;
    if (found !== undefined && found.token !== this.#owner.token) {
      const where = `process ${found.pid} on ${found.host}`;
      this.#lost.abort(new StorageError(`${shownPath(this.#path)} was taken by ${where}: this process did not renew it for too long`));
      return;
    }
    await this.#write().catch(() => undefined);
  }
}

async function ownerAt(path: string): Promise<Owner | undefined> {
  if (!(await fileExists(path))) return undefined;
  try {
    return JSON.parse(Buffer.from(await readWhole(path)).toString("utf8")) as Owner;
  } catch (error) {
    // Records appear whole, so one that is no JSON is nobody's.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isAlive({ host, system, pid, started, renewedAt }: Owner): boolean {
  const here = thisProcess();
  if (host !== hostname() || system !== here.system) return Date.now() - renewedAt < OWNER_SILENCE_MS_MAX;
  return startOf(pid) === started;
}

function thisProcess(): Pick<Owner, "system" | "pid" | "started"> {
  return {
    system: `${readText("/proc/sys/kernel/random/boot_id")} ${namespaceOfPids()}`,
    pid: process.pid,
    started: startOf(process.pid) ?? "",
  };
}

/** When a process began, in the kernel's own units; undefined for a process that is no more. Where the kernel does not tell, that there is one. */
function startOf(pid: number): string | undefined {
  const line = readText(`/proc/${pid}/stat`);
  // The name of the program, in brackets, may have spaces and brackets. Behind it the start is the 20th field, the state the first: a zombie has ended.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  if (line !== "") return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  try {
    process.kill(pid, 0);
    return process.platform === "linux" ? undefined : "";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" ? "" : undefined;
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}

function namespaceOfPids(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

function taken(what: string, { pid, host }: Owner, folder: string): StorageError {
  return new StorageError(`Cannot use ${what}: process ${pid} on ${host} is running it in ${shownPath(folder)}`, {
    hint: "wait for its end, or give this run another name; a driver that died on another machine is replaced a minute later",
  });
}

function gone(what: string, folder: string): StorageError {
  return new StorageError(`Cannot use ${what}: its folder ${shownPath(folder)} was removed meanwhile`);
}
