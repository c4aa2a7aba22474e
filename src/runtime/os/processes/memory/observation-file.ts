/**
 * The file in which a process records its calls: the process writes it as memory, and its daemon reads it with `pread`.
 *
 * The daemon never maps the file: a process that cuts its file short would end the daemon with it. The file lies in shared memory beside
 * the process's arenas, and only its user may open it.
 */
import { closeSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { sharedMemory } from "../../shared-memory.ts";

function pathOf(folder: string, processId: string): string {
  return join(folder, `obs-${processId}`);
}

/** Makes the file of this process as memory of zeros. Undefined without the native part, or where the system refuses. */
export function newObservationMemory(folder: string, processId: string, sizeBytes: number): ArrayBuffer | undefined {
  const memory = sharedMemory();
  if (memory === undefined) return undefined;
  try {
    const fd = openSync(pathOf(folder, processId), "wx+", 0o600);
    try {
      ftruncateSync(fd, sizeBytes);
      return memory.map({ fd, offset: 0, sizeBytes, mode: "shared" });
    } finally {
      closeSync(fd);
    }
  } catch {
    // Calls run without a record.
    return undefined;
  }
}

/** The daemon's side. */
export class ObservationFile {
  readonly #path: string;
  readonly #fd: number;

  /** @throws Error where the process has no such file */
  constructor(folder: string, processId: string) {
    this.#path = pathOf(folder, processId);
    this.#fd = openSync(this.#path, "r+");
  }

  read(target: Uint8Array, at: number): void {
    readSync(this.#fd, target, 0, target.length, at);
  }

  write(bytes: Uint8Array, at: number): void {
    writeSync(this.#fd, bytes, 0, bytes.length, at);
  }

  /** Removes the file, too. */
  close(): void {
    closeSync(this.#fd);
    rmSync(this.#path, { force: true });
  }
}
