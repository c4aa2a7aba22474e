/**
 * Copies of remote folders on this machine, each shared by all processes of a user that use it at the same time: the first fetches it, the last one removes it.
 *
 * A private folder holds all of them: for each key the copy, a record of each user, and a lock. Opening and closing hold the lock, so others wait while one fetches.
 * Records and locks name their process: those of processes that have died count for nothing, and the next process that opens any copy removes those that nobody uses.
 */
import { createHash, randomUUID } from "node:crypto";
import { link, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isProcessGone, makePrivateFolder, processIdentity, removeIfEmpty, temporaryRoot } from "../../core/internal.ts";
import { LOCK_LOOKED_AT_EVERY_MS, TAKEOVER_MS_MAX } from "../limits.ts";

export interface SharedCopy {
  /** The folder with the copy. Others read it, too. */
  readonly path: string;
  /** Names this user of the copy for `closeSharedCopy`. */
  readonly user: string;
}

interface SharedCopyRequest {
  /** Names the copied content. Two keys are two copies. */
  readonly key: string;
  /** Makes the copy in a folder that is not there. */
  readonly fetch: (folder: string) => Promise<unknown>;
  /** The process that uses it. Default: this one. */
  readonly pid?: number;
}

/** Opens the copy of a key, and makes it if it does not exist. Every user closes it again. */
export async function openSharedCopy({ key, fetch, pid = process.pid }: SharedCopyRequest): Promise<SharedCopy> {
  const place = join(root(), createHash("sha256").update(key).digest("hex").slice(0, 32));
  await removeUnused();
  return await locked(place, async () => {
    const copy = `${place}.copy`;
    if (!(await isThere(copy))) {
      const partial = `${place}.partial`;
      await rm(partial, { recursive: true, force: true });
      try {
        await fetch(partial);
        await rename(partial, copy);
      } catch (error) {
        await rm(partial, { recursive: true, force: true });
        throw error;
      }
    }
    const user = `${place}.user-${randomUUID()}`;
    await writeFile(user, processIdentity(pid));
    return { path: copy, user };
  });
}

/** Ends a use. The last one removes the copy. */
export async function closeSharedCopy({ user }: Pick<SharedCopy, "user">): Promise<void> {
  const place = user.slice(0, user.lastIndexOf(".user-"));
  if (dirname(place) !== root()) throw new TypeError(`Cannot close a shared copy: this is no user of one: received ${user}`);
  await locked(place, async () => {
    await rm(user, { force: true });
    await removeIfUnused(place);
  });
}

function root(): string {
  return join(temporaryRoot(), `shoal-copies-${process.getuid?.() ?? 0}`);
}

/** Removes copies whose users have died. */
async function removeUnused(): Promise<void> {
  const places = new Set((await names()).flatMap((name) => /^(.*)\.(?:copy|partial)$/.exec(name)?.[1] ?? []));
  for (const name of places) {
    const place = join(root(), name);
    const isInUse = (await isThere(`${place}.lock`)) || (await hasUsers(place));
    if (!isInUse) await locked(place, () => removeIfUnused(place));
  }
}

/** With the lock held: then each record is whole, or its process died over it. */
async function removeIfUnused(place: string): Promise<void> {
  if (await hasUsers(place)) return;
  for (const name of await names()) {
    const path = join(root(), name);
    if ([`${place}.copy`, `${place}.partial`].includes(path) || path.startsWith(`${place}.user-`))
      await rm(path, { recursive: true, force: true });
  }
}

async function hasUsers(place: string): Promise<boolean> {
  for (const name of await names()) {
    const record = join(root(), name);
    if (!record.startsWith(`${place}.user-`)) continue;
    const user = await identityIn(record);
    if (user !== undefined && user !== "" && !isProcessGone(user)) return true;
  }
  return false;
}

// ---------------------------------------------------------------------------------------------------------------------
// Locks

/** Runs `work` while no other process does for the same place. */
async function locked<T>(place: string, work: () => Promise<T>): Promise<T> {
  const lock = `${place}.lock`;
  const own = `${lock}-${randomUUID()}`;
  const identity = processIdentity();
  while (!(await claims(lock, { own, identity }))) {
    await takeOverDead(lock);
    await delay(LOCK_LOOKED_AT_EVERY_MS);
  }
  try {
    return await work();
  } finally {
    for (const file of [lock, own]) await rm(file, { force: true });
    removeIfEmpty(root());
  }
}

/** A link appears with its contents, and only if there is none yet. */
async function claims(lock: string, { own, identity }: { own: string; identity: string }): Promise<boolean> {
  makePrivateFolder(root());
  try {
    await writeFile(own, identity);
    await link(own, lock);
    return true;
  } catch (error) {
    // Without the folder: another process has left it just now, as the last one.
    if (!["EEXIST", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    return false;
  }
}

/**
 * Removes the lock of a dead process. Only the process that has made the second link to that very lock removes it, so nobody removes a
 * successor's lock.
 */
async function takeOverDead(lock: string): Promise<void> {
  const owner = await identityIn(lock);
  if (owner === undefined || !isProcessGone(owner)) return;
  const claim = `${lock}.of-${owner.replaceAll(/\W+/g, "-")}`;
  try {
    await link(lock, claim);
  } catch {
    // A second process takes it over, or has done so; or it died doing that.
    const since = (await stat(claim).catch(() => undefined))?.ctimeMs;
    if (since !== undefined && Date.now() - since > TAKEOVER_MS_MAX) await rm(claim, { force: true });
    return;
  }
  if ((await identityIn(claim)) === owner) await rm(lock, { force: true });
  await rm(claim, { force: true });
}

async function identityIn(file: string): Promise<string | undefined> {
  return await readFile(file, "utf8").catch(() => undefined);
}

async function names(): Promise<string[]> {
  return await readdir(root()).catch(() => []);
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
