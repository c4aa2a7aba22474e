/**
 * The native part, when there is one for this platform: file ranges as ArrayBuffers, streaming copies, named pipes, death with the parent.
 *
 * Picks the prebuilt binary that fits, loads it once on first use if its checksum is right, and gives the reason otherwise; all callers
 * work without it. Owns the list of ended mappings, so that several readers in a process each learn when their mappings end. Called by the
 * object store's reader and writer, and by workers. `SHOAL_NATIVE=0` turns it off.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { PACKAGE_URL } from "./own-files.ts";

/** Part of an open file, to be mapped. */
interface MappedRange {
  fd: number;
  offset: number;
  sizeBytes: number;
  /** `shared`: writes reach the file. `private`: writes are seen by nobody else, and pages are copied at the first write. */
  mode: "shared" | "private";
  /** Called from {@link SharedMemory.drainReleased} once the memory cannot be reached any more and is unmapped. */
  onReleased?: () => void;
}

export interface SharedMemory {
  /** @throws RangeError when the range ends beyond the file, Error with a `code` when the system refuses */
  map(range: MappedRange): ArrayBuffer;
  /** Copies bytes into a mapping, bypassing the cache when they are many. */
  copy(target: ArrayBuffer, offset: number, source: Uint8Array): void;
  /**
   * Watches an object without keeping it. A `FinalizationRegistry` keeps its targets until a collection of the whole heap; this does not.
   *
   * @param onReleased called from {@link SharedMemory.drainReleased} once the object is unreachable
   * @returns whether it is watched: an object is at most once
   */
  watch(object: object, onReleased: () => void): boolean;
  /** Ends a watch. @returns its callback, which is not called any more; undefined where there was no watch */
  unwatch(object: object): (() => void) | undefined;
  /** Tells owners of mappings and watched objects that ended since the last call; their finalizers ran in an earlier turn of the event loop. */
  drainReleased(): void;
  /** Mappings alive in this process, over all its threads. */
  liveMaps(): number;
  /** Makes a named pipe that only this user may open. @throws Error with a `code` when the system refuses */
  makeFifo(path: string): void;
  /** Blocks this thread until another process wakes the 32-bit word, the word has another value, or the time is over. Linux only. */
  waitOnWord(memory: ArrayBuffer, word: number, options: { expected: number; timeoutUs: number }): void;
  wakeWord(memory: ArrayBuffer, word: number): void;
  /** Lets threads run that wait for the processor under this one; costs 0.2 us if there are none. */
  yieldProcessor(): void;
}

/** Exports of the C file; see native/shared-memory.c. */
interface NativePart {
  map(fd: number, offset: number, length: number, mode: 0 | 1, token: number): ArrayBuffer;
  copy(target: ArrayBuffer, offset: number, source: Uint8Array): void;
  watch(object: object, token: number): boolean;
  unwatch(object: object): number;
  drainReleased(): number[];
  liveMaps(): number;
  dieWithParent(): boolean;
  makeFifo(path: string): void;
  waitOnWord(memory: ArrayBuffer, word: number, expected: number, microseconds: number): void;
  wakeWord(memory: ArrayBuffer, word: number): void;
  yieldProcessor(): void;
  reapWithThread(pid: number): void;
  hasEnded(pid: number): void;
}

type Loaded = { part: NativePart; memory: SharedMemory } | { reason: string };

/** Beside `src` in a checkout and beside `dist` in the published package. */
const PREBUILDS = new URL("prebuilds/", PACKAGE_URL);

let loaded: Loaded | undefined;

/** The native part, or `undefined` where everything is done by copying. */
export function sharedMemory(): SharedMemory | undefined {
  const result = load();
  return "memory" in result ? result.memory : undefined;
}

/** Why objects are copied instead of mapped, as the end of a sentence; `undefined` when they are mapped. */
export function nativeUnavailableReason(): string | undefined {
  const result = load();
  return "reason" in result ? result.reason : undefined;
}

/**
 * Makes this process end as soon as its parent does, however busy it is. Linux only; on other systems a worker sees its closed pipe at its
 * next turn of the event loop.
 *
 * @returns whether the system does it
 */
export function dieWithParent(): boolean {
  const result = load();
  if (!("part" in result)) return false;
  const parent = process.ppid;
  const isArmed = result.part.dieWithParent();
  // The parent ended between the two lines: no signal is sent for an earlier death.
  if (isArmed && process.ppid !== parent) process.exit(1);
  return isArmed;
}

/**
 * Has a child of this thread waited for where `worker.terminate()` ends the thread first: Node forgets it then, and the child would stay defunct until the process
 * ends. Without the native part it does.
 *
 * @returns a function for when the child has ended
 */
export function reapWithThread(pid: number): () => void {
  const result = load();
  if (!("part" in result)) return () => {};
  result.part.reapWithThread(pid);
  return () => result.part.hasEnded(pid);
}

/** Loads a binary; for tests, which hand in damaged ones. */
export function loadNativePart(directory: URL, platform: string, arch: string): Loaded {
  const name = `${platform}-${arch}`;
  // One of the two C libraries of Linux: the wrong binary does not load.
  const files = (platform === "linux" ? [`${name}.node`, `${name}-musl.node`] : [`${name}.node`]).filter((file) =>
    existsSync(new URL(file, directory)),
  );
  if (files.length === 0) return { reason: `there is no prebuilt native part for ${name}` };
  let checksums: Record<string, string>;
  try {
    checksums = JSON.parse(readFileSync(new URL("checksums.json", directory), "utf8")) as Record<string, string>;
  } catch (error) {
    return { reason: `the checksums of the native parts cannot be read: ${(error as Error).message}` };
  }
  let reason = "";
  for (const file of files) {
    const path = fileURLToPath(new URL(file, directory));
    try {
      const checksum = createHash("sha256").update(readFileSync(path)).digest("hex");
      if (checksum !== checksums[file]) {
        reason = `the checksum of ${file} is not the recorded one`;
        continue;
      }
      const part = createRequire(PACKAGE_URL)(path) as NativePart;
      return { part, memory: memoryOf(part) };
    } catch (error) {
      reason = `${file} cannot be loaded: ${(error as Error).message}`;
    }
  }
  return { reason };
}

function load(): Loaded {
  loaded ??=
    process.env["SHOAL_NATIVE"] === "0"
      ? { reason: "SHOAL_NATIVE=0 turns it off" }
      : loadNativePart(PREBUILDS, process.platform, process.arch);
  return loaded;
}

function memoryOf(part: NativePart): SharedMemory {
  const listeners = new Map<number, () => void>();
  let nextToken = 1;
  return {
    map: ({ fd, offset, sizeBytes, mode, onReleased }) => {
      const token = nextToken;
      nextToken += 1;
      try {
        const buffer = part.map(fd, offset, sizeBytes, mode === "private" ? 1 : 0, token);
        if (onReleased !== undefined) listeners.set(token, onReleased);
        return buffer;
      } catch (error) {
        // Engines with their own memory cage (Electron) never accept a mapping, so it is not tried again.
        if ((error as NodeJS.ErrnoException).code === "ERR_EXTERNAL_BUFFERS_REFUSED")
          loaded = { reason: "this JavaScript engine refuses mapped memory" };
        throw error;
      }
    },
    copy: (target, offset, source) => part.copy(target, offset, source),
    watch: (object, onReleased) => {
      const token = nextToken;
      if (!part.watch(object, token)) return false;
      nextToken += 1;
      listeners.set(token, onReleased);
      return true;
    },
    unwatch: (object) => {
      const token = part.unwatch(object);
      const listener = listeners.get(token);
      listeners.delete(token);
      return listener;
    },
    drainReleased: () => {
      for (const token of part.drainReleased()) {
        const listener = listeners.get(token);
        listeners.delete(token);
        listener?.();
      }
    },
    liveMaps: () => part.liveMaps(),
    makeFifo: (path) => part.makeFifo(path),
    waitOnWord: (memory, word, { expected, timeoutUs }) => part.waitOnWord(memory, word, expected, timeoutUs),
    wakeWord: (memory, word) => part.wakeWord(memory, word),
    yieldProcessor: () => part.yieldProcessor(),
  };
}
