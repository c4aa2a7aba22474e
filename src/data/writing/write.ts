/**
 * Writing a dataset to files: tasks write whole files into a staging folder beside the others, and this process moves them to their places as they are ready.
 *
 * Where nothing can be moved, as in S3, a file is copied there by the server. A file thus appears whole or not at all, whoever dies. With `overwrite` the old files go last, after all new ones are there, so a failed write leaves them, and a dataset
 * may overwrite the files that it is read from. The staging folder's name begins with a dot: no reader takes it.
 */
import { get } from "../../core/index.ts";
import { onInterruption } from "../../progress/interruption.ts";
import { fileExists } from "../../storage/listing/folders.ts";
import type { StagedFile } from "../../storage/file-system.ts";
import { shownPath } from "../../storage/paths.ts";
import { listFiles } from "../../storage/listing/list-files.ts";
import { publishFile, removeFiles, resolveFolder } from "../../storage/places.ts";
import { rowsOf } from "../blocks/block.ts";
import type { RecordedFile, WriteCheckpoint } from "../checkpoint/write-checkpoint.ts";
import type { Field } from "../blocks/data-type.ts";
import type { BlockRef } from "../engine/operators/operator.ts";
import { CommonSchema } from "../engine/streams/common-schema.ts";
import { isNarrow, type NarrowFile, type WidenedFile } from "../engine/tasks/widen-file.ts";
import type { FileFormat, WrittenFile } from "../engine/writes/write-transform.ts";
import { DataError } from "../errors.ts";
import { FileNames, type FilenameProvider, isNamedByWrite } from "./file-names.ts";
import { FILES_PUBLISHED_AT_A_TIME, INTERRUPTED_WRITE_MS } from "../limits.ts";
import { makeStagingFolder, removeStagingFolder } from "./staging-folder.ts";
import { counted } from "../reports/statistics.ts";

export const WRITE_MODES = ["append", "overwrite", "create", "error", "ignore"] as const;
export type WriteMode = (typeof WRITE_MODES)[number];

/** The result of a write. */
export interface WriteResult {
  /** Absolute paths, in the order of the rows. */
  readonly files: readonly string[];
  readonly rowCount: number;
  readonly sizeBytes: number;
}

const NOTHING: WriteResult = { files: [], rowCount: 0, sizeBytes: 0 };

interface WriteRequest {
  readonly folder: string;
  readonly mode: WriteMode;
  readonly extension: string;
  readonly format: FileFormat;
  readonly filenameProvider: FilenameProvider | undefined;
  /** Where each task's files are recorded as soon as they are in place. */
  readonly checkpoint: WriteCheckpoint | undefined;
  /** Runs the dataset with the write at its end: blocks of {@link WrittenFile}. */
  run(stagingFolder: string): AsyncIterable<BlockRef>;
  /** Writes the file of a dataset without rows. */
  writeEmpty(stagingFolder: string, fields: readonly Field[]): Promise<readonly WrittenFile[]>;
  /** Makes those of the files anew that lack columns or types of all: blocks of {@link WidenedFile}. */
  widen(stagingFolder: string, files: readonly NarrowFile[], all: readonly Field[]): AsyncIterable<BlockRef>;
}

/** @throws DataError where the folder has files and the mode is `error`, or files of others and the mode is `overwrite` */
export async function writeDataset({
  folder,
  mode,
  extension,
  format,
  filenameProvider,
  checkpoint,
  run,
  writeEmpty,
  widen,
}: WriteRequest): Promise<WriteResult> {
  const { target, found, old } = await filesOfTarget(folder, mode, filenameProvider !== undefined);
  if (old.length > 0 && mode === "ignore") return NOTHING;
  if (mode === "overwrite") refuseForeignFiles(old, { target, extension, hasProvider: filenameProvider !== undefined });
  const id = checkpoint?.writeId ?? crypto.randomUUID().slice(0, 8);
  const staging = `${target}/.staging-${id}`;
  const names = new FileNames(filenameProvider, mode === "append" ? found : []);
  const kept: PlacedFile[] = [];
  const publisher = new Publisher();
  const written = onInterruption({
    abandon: async () => {
      await publisher.stop();
      await removeStagingFolder(staging);
    },
    withinMs: INTERRUPTED_WRITE_MS,
    kept: () => keptText(target, publisher.placed, mode === "overwrite" ? old : []),
  });
  const all = new WrittenFiles(checkpoint?.files ?? []);
  const place = async ({ staged, partition, columns = null, rowCount, sizeBytes }: WrittenFile): Promise<RecordedFile> => {
    const to = names.placeOf(target, { index: all.paths.length, writeId: id, extension, partition, rowCount });
    // Beside old files that are to go, new ones would be read together with them.
    const file = { from: staged, to, sizeBytes, rowCount };
    if (mode === "overwrite") kept.push(file);
    else await publisher.publish(file);
    return all.add({ path: to, sizeBytes, rowCount, columns });
  };
  try {
    // A killed run with this id may have left its own.
    if (checkpoint !== undefined) await removeStagingFolder(staging);
    await makeStaging(staging, target);
    const empty = await placeTasks(run(staging), { place, publisher, checkpoint });
    if (all.paths.length === 0 && empty !== undefined)
      for (const file of await writeEmpty(staging, JSON.parse(empty) as readonly Field[])) await place(file);
    for (const file of kept) await publisher.publish(file);
    await publisher.end();
    const narrow = all.schemas.narrowFiles(format);
    if (narrow.length > 0) all.sizeBytes += await replaceFiles(widen(staging, narrow, all.schemas.all), publisher);
    await publisher.end();
    await checkpoint?.checkIds();
    await removeFiles(old.filter((path) => !names.has(path)));
  } catch (error) {
    await publisher.end().catch(() => {});
    // The first failure is told; one that hinders the cleaning too leaves hidden files.
    await removeStagingFolder(staging).catch(() => {});
    throw error;
  } finally {
    written();
  }
  await removeStagingFolder(staging);
  return { files: all.paths, rowCount: all.rowCount, sizeBytes: all.sizeBytes };
}

interface Placing {
  readonly place: (file: WrittenFile) => Promise<RecordedFile>;
  readonly publisher: Publisher;
  readonly checkpoint: WriteCheckpoint | undefined;
}

/** Gives the files of each task their places, and records them where there is a checkpoint. Returns the columns of a task without rows. */
async function placeTasks(blocks: AsyncIterable<BlockRef>, { place, publisher, checkpoint }: Placing): Promise<string | undefined> {
  let empty: string | undefined;
  for await (const block of blocks) {
    const placed: RecordedFile[] = [];
    let ids: string | undefined;
    for (const file of rowsOf(await get(block.ref)) as WrittenFile[]) {
      if (file.staged !== "") placed.push(await place(file));
      else empty ??= file.columns ?? undefined;
      ids ??= file.ids;
    }
    block.release();
    if (checkpoint === undefined || ids === undefined) continue;
    await publisher.end();
    await checkpoint.record({ ids, files: placed });
  }
  return empty;
}

/** The files of a write, and those that a checkpoint names. */
class WrittenFiles {
  readonly paths: string[] = [];
  readonly schemas = new WrittenSchemas();
  rowCount = 0;
  sizeBytes = 0;

  constructor(recorded: readonly RecordedFile[]) {
    for (const file of recorded) this.add(file);
  }

  add(file: RecordedFile): RecordedFile {
    const { path, sizeBytes, rowCount, columns } = file;
    if (columns !== null) this.schemas.add({ path, sizeBytes }, columns);
    this.paths.push(path);
    this.rowCount += rowCount;
    this.sizeBytes += sizeBytes;
    return file;
  }
}

interface TargetFiles {
  readonly target: string;
  readonly found: readonly string[];
  /** Files that the mode refuses, removes or waits for. Empty for `append`. */
  readonly old: readonly string[];
}

/** @throws DataError where there are files and the mode refuses them */
async function filesOfTarget(folder: string, mode: WriteMode, hasProvider: boolean): Promise<TargetFiles> {
  const target = await resolveFolder(folder);
  // Only names of the user's could be those of old files.
  const isAsked = mode !== "append" || hasProvider;
  const found = isAsked ? (await listFiles(target, { ignoreMissingPaths: true })).map(({ path }) => path) : [];
  const old = mode === "append" ? [] : found;
  if (old.length > 0 && (mode === "error" || mode === "create"))
    throw new DataError(`Cannot write to ${target}: it has ${old.length} files already`, {
      hint: 'choose another folder, or mode: "append" or "overwrite"',
    });
  return { target, found, old };
}

/** Says what an interrupted write leaves. @param old - files that were to be removed */
function keptText(target: string, { paths, rows }: Placed, old: readonly string[]): string {
  const there = paths.size;
  const left = old.filter((path) => !paths.has(path)).length;
  const beside = left > 0 ? `, beside ${counted(left, "file")} of before` : "";
  return `interrupted: ${counted(there, "whole file")} with ${counted(rows, "row")} ${there === 1 ? "is" : "are"} in ${shownPath(target)}${beside}`;
}

/** Puts files that were made anew in the places of the narrow ones. Returns how many bytes all of them are longer. */
async function replaceFiles(widened: AsyncIterable<BlockRef>, publisher: Publisher): Promise<number> {
  let addedBytes = 0;
  for await (const block of widened) {
    for (const { staged: from, path: to, sizeBytes, narrowBytes } of rowsOf(await get(block.ref)) as WidenedFile[]) {
      // The rows were counted when the narrow file came into its place.
      await publisher.publish({ from, to, sizeBytes, rowCount: 0 });
      addedBytes += sizeBytes - narrowBytes;
    }
    block.release();
  }
  return addedBytes;
}

/** Tasks do not make the folder: one that has not heard yet that the write has failed finds none, and leaves nothing behind. */
async function makeStaging(staging: string, target: string): Promise<void> {
  await makeStagingFolder(staging).catch(async (cause: unknown) => {
    if (!(await fileExists(target))) throw cause;
    throw new DataError(`Cannot write to ${shownPath(target)}: it is a file, and a write makes a folder, with a file a task`, {
      cause,
      hint: 'for one file write the stream of toReadableStream({ format: "csv" }) into it',
    });
  });
}

interface Overwritten {
  readonly target: string;
  readonly extension: string;
  readonly hasProvider: boolean;
}

/** @throws DataError where the folder has files that no write has made: an overwrite would remove them */
function refuseForeignFiles(old: readonly string[], { target, extension, hasProvider }: Overwritten): void {
  const foreign = old.filter((path) => !isNamedByWrite(path, target, extension, hasProvider));
  const [first] = foreign;
  if (first === undefined) return;
  const others = foreign.length > 1 ? ` and ${counted(foreign.length - 1, "other")}` : "";
  throw new DataError(
    `Cannot overwrite ${shownPath(target)}: it has files that no write of a dataset made: received ${shownPath(first)}${others}`,
    {
      hint: `choose a folder of its own, remove ${foreign.length === 1 ? "the file" : "these files"} first, or use mode: "append"`,
    },
  );
}

/**
 * The columns of the files of a write. They differ where a user's function gave other columns in other blocks, which shows only here.
 */
class WrittenSchemas {
  readonly #common = new CommonSchema();
  /** Each schema once, as there may be very many files. */
  readonly #schemas = new Map<string, { readonly fields: readonly Field[]; readonly files: Omit<NarrowFile, "fields">[] }>();

  /** The columns of all files. */
  get all(): readonly Field[] {
    return this.#common.fields;
  }

  /**
   * @param columns - as JSON
   * @throws DataError where a column has types that do not go together, with a file of each
   */
  add(file: Omit<NarrowFile, "fields">, columns: string): void {
    let schema = this.#schemas.get(columns);
    if (schema === undefined) {
      schema = { fields: JSON.parse(columns) as readonly Field[], files: [] };
      this.#common.add({ schema: schema.fields, origin: { file: shownPath(file.path) }, release: () => {} });
      this.#schemas.set(columns, schema);
    }
    schema.files.push(file);
  }

  narrowFiles(format: FileFormat): NarrowFile[] {
    const narrow = [...this.#schemas.values()].filter(({ fields }) => isNarrow(fields, this.all, format));
    return narrow.flatMap(({ fields, files }) => files.map((file) => ({ ...file, fields })));
  }
}

interface PlacedFile extends StagedFile {
  readonly rowCount: number;
}

/** Files in their places, and their rows. */
interface Placed {
  readonly paths: Set<string>;
  rows: number;
}

/** Gives files their places, a few at a time: a copy on a server takes a while. */
class Publisher {
  readonly #underWay = new Set<Promise<void>>();
  readonly placed: Placed = { paths: new Set(), rows: 0 };
  #failure: unknown;
  #isStopped = false;

  /** Waits only while too many are under way. */
  async publish(file: PlacedFile): Promise<void> {
    await this.#goesOn();
    const published = publishFile(file).then(
      () => {
        this.placed.paths.add(file.to);
        this.placed.rows += file.rowCount;
      },
      (error: unknown) => {
        this.#failure ??= error;
      },
    );
    this.#underWay.add(published);
    void published.then(() => this.#underWay.delete(published));
    while (this.#underWay.size >= FILES_PUBLISHED_AT_A_TIME) await Promise.race(this.#underWay);
    this.#throwFailure();
  }

  async end(): Promise<void> {
    await Promise.all(this.#underWay);
    await this.#goesOn();
    this.#throwFailure();
  }

  /** Stops moving files to their places. Callers that wait for a file or for the end wait until the process ends. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#underWay);
  }

  async #goesOn(): Promise<void> {
    if (this.#isStopped) await new Promise(() => {});
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}
