/**
 * The disk of spilled objects: real files, written in virtual time, which is sometimes full.
 *
 * Stands for `runtime/objects/spilling/spill-disk.ts`, which copies beside the event loop of the real daemon and so would not be repeatable. Between the copy and the answer other events
 * happen, as in reality; the copy itself is one step. A source that is gone is passed over.
 */
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { extentBytesOf } from "../src/runtime/objects/arenas/arena-extents.ts";
import type { ArenaFile } from "../src/runtime/objects/store/store-ledger.ts";
import type { SpillDisk, WrittenBatch } from "../src/runtime/objects/spilling/spill-disk.ts";
import { type SpilledPlace, type SpillIndex, spillIndexName, type SpillPiece } from "../src/runtime/objects/spilling/spill-files.ts";
import type { SimulatedProcess } from "./world.ts";

const COPY_MAX_MS = 40;

export class SimulatedSpillDisk implements SpillDisk {
  readonly #directories: { memory: string; spill: string };
  readonly #node: SimulatedProcess;
  #files = 0;
  batches = 0;
  isFull = false;

  constructor(directories: { memory: string; spill: string }, node: SimulatedProcess) {
    this.#directories = directories;
    this.#node = node;
  }

  async writeBatch(pieces: readonly SpillPiece[]): Promise<WrittenBatch> {
    this.#files += 1;
    const file = `spill-${this.#files}`;
    const { random } = this.#node.world;
    await this.#sleep(random.next() * COPY_MAX_MS);
    if (this.isFull) throw Object.assign(new Error("the simulated disk is full"), { code: "ENOSPC" });
    let sizeBytes = 0;
    const places: SpilledPlace[] = [];
    const fd = openSync(join(this.#directories.spill, file), "wx");
    try {
      for (const piece of pieces) {
        const directory = piece.source.kind === "memory" ? this.#directories.memory : this.#directories.spill;
        const bytes = readPiece(join(directory, piece.source.arena), piece);
        if (bytes !== undefined) writeSync(fd, bytes, 0, bytes.length, sizeBytes);
        places.push({ arena: piece.arena, offset: piece.offset, fileOffset: sizeBytes });
        sizeBytes += extentBytesOf(piece.sizeBytes);
      }
    } finally {
      closeSync(fd);
    }
    await this.#sleep(random.next() * COPY_MAX_MS);
    this.batches += 1;
    return { file, sizeBytes, places };
  }

  writeIndex(arena: string, index: SpillIndex): void {
    writeFileSync(join(this.#directories.spill, spillIndexName(arena)), JSON.stringify(index));
  }

  async filesOf(processTag: string): Promise<ArenaFile[]> {
    await this.#sleep(this.#node.world.random.next());
    const isOfProcess = new RegExp(`^${processTag}-\\d+$`);
    const filesIn = (directory: string, kind: ArenaFile["kind"]): ArenaFile[] =>
      readdirSync(directory)
        .filter((name) => isOfProcess.test(name))
        .sort()
        .map((arena) => ({ arena, kind }));
    return [...filesIn(this.#directories.memory, "memory"), ...filesIn(this.#directories.spill, "disk")];
  }

  #sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.#node.schedule(delayMs, resolve));
  }
}

function readPiece(path: string, piece: SpillPiece): Buffer | undefined {
  try {
    return readFileSync(path).subarray(piece.sourceOffset, piece.sourceOffset + piece.sizeBytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
