/**
 * Finds spilled objects by their former places: reads the indices of spilled arenas on demand.
 *
 * Caches the indices of the arenas that were asked for last. An index is out of date once its fused file was copied to another: the reader then finds the
 * file gone and asks again. Every field that another process wrote is checked.
 */
import type { StoreFiles } from "../../os/files/store/store-file.ts";
import type { ObjectLocation } from "../arenas/layout.ts";
import { spillIndexName } from "./spill-files.ts";

type Places = ReadonlyMap<number, { file: string; fileOffset: number }>;

/** A thousand objects in an arena at most: some 50 KB for each index. */
const INDICES_MAX = 64;
const FILE_NAME = /^[\w-]{1,128}$/;

export class SpillIndices {
  readonly #options: { spillDirectory: string; files: StoreFiles };
  readonly #known = new Map<string, Places>();

  constructor(options: { spillDirectory: string; files: StoreFiles }) {
    this.#options = options;
  }

  /** @returns undefined when the arena was not spilled, or did not hold it */
  placeOf(location: ObjectLocation): ObjectLocation | undefined {
    const place = this.#placesOf(location.arena)?.get(location.offset);
    return place === undefined ? undefined : { arena: place.file, offset: place.fileOffset, sizeBytes: location.sizeBytes, kind: "disk" };
  }

  forget(arena: string): void {
    this.#known.delete(arena);
  }

  #placesOf(arena: string): Places | undefined {
    const known = this.#known.get(arena);
    if (known !== undefined) return known;
    const { spillDirectory, files } = this.#options;
    const text = files.readText(`${spillDirectory}/${spillIndexName(arena)}`);
    const places = text === undefined ? undefined : parseIndex(text);
    if (places === undefined) return undefined;
    if (this.#known.size >= INDICES_MAX) {
      for (const oldest of this.#known.keys()) {
        this.#known.delete(oldest);
        break;
      }
    }
    this.#known.set(arena, places);
    return places;
  }
}

function parseIndex(text: string): Places | undefined {
  const places = new Map<number, { file: string; fileOffset: number }>();
  let rows: unknown;
  try {
    rows = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(rows)) return undefined;
  for (const row of rows) {
    if (!Array.isArray(row)) return undefined;
    const [offset, file, fileOffset] = row as unknown[];
    const isValid =
      Number.isSafeInteger(offset) &&
      typeof file === "string" &&
      FILE_NAME.test(file) &&
      Number.isSafeInteger(fileOffset) &&
      Number(fileOffset) >= 0;
    if (!isValid) return undefined;
    places.set(offset as number, { file, fileOffset: fileOffset as number });
  }
  return places;
}
