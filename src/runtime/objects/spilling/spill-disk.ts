/**
 * The spill disk as the node daemon uses it: a batch of objects into one fused file, and the indices by which readers find them.
 *
 * Decides the place of each object in the file (at pages, so that readers can map it) and the order of writes: first the file, then the indices. Only then
 * does the caller delete the arenas, so a reader finds an object at every moment. An interface, so that tests can have a full disk.
 */
import { namesIn, spillRoomBytes, writeFused, writeWhole } from "../../os/files/store/spill-disk.ts";
import { extentBytesOf } from "../arenas/arena-extents.ts";
import type { ArenaFile } from "../store/store-ledger.ts";
import { type SpilledPlace, type SpillIndex, spillIndexName, type SpillPiece } from "./spill-files.ts";

export interface WrittenBatch {
  file: string;
  sizeBytes: number;
  places: SpilledPlace[];
}

export interface SpillDisk {
  /** @throws the system's error, ENOSPC where the disk is full; nothing of the batch is then left */
  writeBatch(pieces: readonly SpillPiece[]): Promise<WrittenBatch>;
  writeIndex(arena: string, index: SpillIndex): void;
  /** The files that a process has written, by the tag in their names. */
  filesOf(processTag: string): Promise<ArenaFile[]>;
}

export function createSpillDisk(directories: { memory: string; spill: string }): SpillDisk {
  let files = 0;
  return {
    writeBatch: async (pieces) => {
      files += 1;
      const file = `spill-${files}`;
      let sizeBytes = 0;
      const places: SpilledPlace[] = [];
      const copies = pieces.map((piece) => {
        const target = sizeBytes;
        sizeBytes += extentBytesOf(piece.sizeBytes);
        places.push({ arena: piece.arena, offset: piece.offset, fileOffset: target });
        const directory = piece.source.kind === "memory" ? directories.memory : directories.spill;
        return { path: `${directory}/${piece.source.arena}`, offset: piece.sourceOffset, target, sizeBytes: piece.sizeBytes };
      });
      const roomBytes = await spillRoomBytes(directories.spill);
      if (roomBytes < sizeBytes) {
        throw Object.assign(new Error(`${directories.spill} has ${Math.max(0, Math.round(roomBytes))} bytes left for ${sizeBytes}`), {
          code: "ENOSPC",
        });
      }
      await writeFused(`${directories.spill}/${file}`, copies);
      return { file, sizeBytes, places };
    },
    writeIndex: (arena, index) => writeWhole(directories.spill, spillIndexName(arena), JSON.stringify(index)),
    filesOf: async (processTag) => {
      const isOfProcess = new RegExp(`^${processTag}-\\d+$`);
      const [memory, spill] = await Promise.all([namesIn(directories.memory), namesIn(directories.spill)]);
      const inMemory = memory.filter((name) => isOfProcess.test(name)).map((arena): ArenaFile => ({ arena, kind: "memory" }));
      const onDisk = spill.filter((name) => isOfProcess.test(name)).map((arena): ArenaFile => ({ arena, kind: "disk" }));
      return [...inMemory, ...onDisk];
    },
  };
}
