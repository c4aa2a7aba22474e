/**
 * A lock on a folder: of all processes that use one folder, at most one holds it, and a lock whose holder has died is taken over.
 *
 * Each holder writes a file of the next number, `lock.7` after `lock.6`, and holds the lock if no higher number exists then. The file with
 * the highest number is never removed, so a process that has read an older one cannot take its place. A holder of this machine lives if its
 * process does. A holder of another container or machine cannot be looked up. It counts as alive if it touches its file while somebody
 * watches; no clocks are compared.
 */
import { readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ShoalError } from "../../../base/errors.ts";
import { processIdentity, runsHere } from "../../processes/process-identity.ts";
import { makePrivateFolder } from "../private-files.ts";

/** A live process holds the lock. `details.pid` is its number, if it runs on this machine. */
class FolderLockedError extends ShoalError {
  static override readonly code = "FOLDER_LOCKED";
}

interface FolderLock {
  /** Nothing happens at the second call. */
  release(): void;
}

interface Watched {
  readonly folder: string;
  readonly number: number;
  readonly what: string;
  readonly watchMs: number;
}

const NAME = /^lock\.(\d{1,15})$/;
const RELEASED = "released\n";
const TOUCH_EVERY_MS = 1_000;
/** Four touches, of which a busy machine may skip some. */
const WATCH_MS = 4 * TOUCH_EVERY_MS;
const LOOK_EVERY_MS = 50;

/**
 * Takes the lock of a folder, and makes the folder if needed. The holder may be late in using its event loop, but has to use it.
 *
 * @param what - names the folder's use in the message: `a head of the name "default"`
 * @param options.watchMs how long a holder that cannot be looked up is watched
 * @throws FolderLockedError when another process holds it
 */
export async function lockFolder(folder: string, what: string, { watchMs = WATCH_MS }: { watchMs?: number } = {}): Promise<FolderLock> {
  makePrivateFolder(folder);
  const identity = processIdentity();
  for (;;) {
    const newest = numbersIn(folder).at(-1) ?? 0;
    if (newest > 0) await assertNotHeld({ folder, number: newest, what, watchMs });
    const own = join(folder, `lock.${newest + 1}`);
    if (!create(own, `${identity}\n`)) continue;
    const numbers = numbersIn(folder);
    if (numbers.at(-1) === newest + 1) {
      for (const older of numbers.slice(0, -1)) rmSync(join(folder, `lock.${older}`), { force: true });
      return held(own);
    }
    // Several processes have taken and left the lock since the first look: this number comes too late.
    rmSync(own, { force: true });
  }
}

function held(file: string): FolderLock {
  const touching = setInterval(() => {
    try {
      const now = new Date();
      utimesSync(file, now, now);
    } catch {
      // The folder was removed: there is nothing left to protect.
    }
  }, TOUCH_EVERY_MS).unref();
  let isReleased = false;
  return {
    release: () => {
      if (isReleased) return;
      isReleased = true;
      clearInterval(touching);
      try {
        writeFileSync(file, RELEASED, { flag: "r+" });
      } catch {
        // As above. A full disk leaves the identity of a process that is about to end.
      }
    },
  };
}

/** @throws FolderLockedError */
async function assertNotHeld({ folder, number, what, watchMs }: Watched): Promise<void> {
  const file = join(folder, `lock.${number}`);
  const watchUntil = performance.now() + watchMs;
  let touchedAtFirst: bigint | undefined;
  for (;;) {
    const found = read(file);
    if (found === undefined || found.text.startsWith(RELEASED)) return;
    const holder = found.text.trim();
    const lives = runsHere(holder);
    if (lives === false) return;
    const pid = lives === true ? Number(holder.split(" ")[0]) : undefined;
    touchedAtFirst ??= found.touched;
    if (lives === true || found.touched !== touchedAtFirst) {
      const who = pid === undefined ? "a process of another machine or container" : `process ${pid}`;
      throw new FolderLockedError(`Cannot start ${what}: ${who} runs one in ${folder} already, or is starting it.`, {
        reason: "another one holds the folder",
        hint: "`shoal status` shows what runs, `shoal stop` ends it. For a second cluster give another --name and --port.",
        details: { folder, pid },
      });
    }
    if (performance.now() > watchUntil) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

function numbersIn(folder: string): number[] {
  return readdirSync(folder)
    .flatMap((name) => NAME.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

/** @returns false where the file exists */
function create(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function read(file: string): { text: string; touched: bigint } | undefined {
  try {
    return { text: readFileSync(file, "utf8"), touched: statSync(file, { bigint: true }).mtimeNs };
  } catch {
    return undefined;
  }
}
