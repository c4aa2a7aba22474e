/**
 * Lets one process at a time write into a folder, on whatever machine it runs.
 *
 * A record in the folder names the owner, which renews it. On the owner's machine the process itself tells whether it lives, so a killed
 * one is replaced at once. On other machines a record that was not renewed for a minute counts as a dead owner's. Storages have no common
 * lock, so a claimant writes its record and reads it back a little later: of two simultaneous claimants one finds the other's record. An
 * owner that was frozen for longer finds it at the next renewal, and `lost` aborts.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { isPlainObject, processIdentity, runsHere } from "../core/internal.ts";
import { StorageError } from "./errors.ts";
import { writeWhole } from "./listing/folders.ts";
import { CLAIM_PAUSE_MS, FUTURE_CLAIM_LOOK_MS, OWNER_RENEWED_EVERY_MS, OWNER_SILENCE_MS_MAX } from "./limits.ts";
import { joinPath, shownPath } from "./paths.ts";
import { removeFiles } from "./places.ts";
import { readTextIfThere } from "./read-file.ts";

const RECORD = ".owner.json";

interface Owner {
  readonly token: string;
  readonly host: string;
  readonly pid: number;
  readonly identity: string;
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
   * Claims an existing folder.
   *
   * @param what - in messages: `the run "mnist"`
   * @throws StorageError while another process has it
   */
  static async claim(folder: string, what: string): Promise<FolderOwner> {
    const path = joinPath(folder, RECORD);
    const other = await ownerAt(path);
    if (other !== undefined && (await isAlive(other, path))) throw taken(what, other, folder);
    const owner = new FolderOwner(path, { token: randomUUID(), host: hostname(), pid: process.pid, identity: processIdentity() });
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
    await writeWhole(this.#path, JSON.stringify({ ...this.#owner, renewedAt: Date.now() } satisfies Owner));
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

/** Returns the owner in a record; undefined for a file that is no record. Records appear whole, so an invalid one is not being written. */
async function ownerAt(path: string): Promise<Owner | undefined> {
  const text = await readTextIfThere(path);
  if (text === undefined) return undefined;
  try {
    const found: unknown = JSON.parse(text);
    return isOwner(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

function isOwner(found: unknown): found is Owner {
  if (!isPlainObject(found)) return false;
  const { token, host, pid, identity, renewedAt } = found;
  const areTexts = [token, host, identity].every((value) => typeof value === "string");
  return areTexts && Number.isSafeInteger(pid) && Number.isFinite(renewedAt);
}

async function isAlive(owner: Owner, path: string): Promise<boolean> {
  const { host, identity, renewedAt } = owner;
  const here = host === hostname() ? runsHere(identity) : undefined;
  if (here !== undefined) return here;
  const silenceMs = Date.now() - renewedAt;
  if (silenceMs > -OWNER_SILENCE_MS_MAX) return silenceMs < OWNER_SILENCE_MS_MAX;
  // A record from the future: a clock that is ahead, or an owner that is dead. An owner that lives writes it again.
  const untilMs = performance.now() + 2 * OWNER_RENEWED_EVERY_MS;
  while (performance.now() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, FUTURE_CLAIM_LOOK_MS));
    const now = await ownerAt(path);
    if (now === undefined) return false;
    if (now.token !== owner.token || now.renewedAt !== renewedAt) return true;
  }
  return false;
}

function taken(what: string, { pid, host }: Owner, folder: string): StorageError {
  return new StorageError(`Cannot use ${what}: process ${pid} on ${host} is running it in ${shownPath(folder)}`, {
    hint: "wait for its end, or give this run another name; a driver that died on another machine is replaced a minute later",
  });
}

function gone(what: string, folder: string): StorageError {
  return new StorageError(`Cannot use ${what}: its folder ${shownPath(folder)} was removed meanwhile`);
}
