/**
 * The record of a write with a checkpoint: which files are in place, and the ids of their rows.
 *
 * A folder holds it. `checkpoint.json` has the plan. For each task that has ended there is a file of ids, and a record that names its written files. The
 * record is written last, whole or not at all: rows count as done if a record names them. Files that no record names are left from a kill, and go when the
 * next run opens the checkpoint. One run at a time owns the folder.
 */
import { type ObjectRef, put } from "../../core/index.ts";
import { isPlainObject } from "../../core/internal.ts";
import { FolderOwner } from "../../storage/folder-owner.ts";
import { folderNames, writeWhole } from "../../storage/listing/folders.ts";
import { listFiles } from "../../storage/listing/list-files.ts";
import { joinPath, shownPath } from "../../storage/paths.ts";
import { makeFolder, removeFiles, resolveFolder } from "../../storage/places.ts";
import { readText, readTextIfThere } from "../../storage/read-file.ts";
import { type Block, columnReader, concatBlocks } from "../blocks/block.ts";
import type { Vector } from "../blocks/vector.ts";
import { DataError } from "../errors.ts";
import { groupRows } from "../kernels/hash.ts";
import type { LogicalPlan } from "../plan/logical-plan.ts";
import type { CheckpointOptions } from "./checkpoint-options.ts";
import { checkSameSteps, type RecordedStep, recordedSteps, withoutRecorded } from "./resumable-plan.ts";
import { type IdsPlace, readIds, sharedId } from "./written-ids.ts";

/** A file in its place. */
export interface RecordedFile {
  readonly path: string;
  readonly sizeBytes: number;
  readonly rowCount: number;
  /** As of `WrittenFile`. */
  readonly columns: string | null;
}

/** The files of one task, and its file of ids. */
interface RecordOfTask {
  readonly ids: string;
  readonly files: readonly RecordedFile[];
}

interface Description {
  readonly format: typeof FORMAT;
  readonly version: number;
  readonly idColumn: string;
  readonly folder: string;
  readonly writeId: string;
  readonly steps: readonly RecordedStep[];
}

interface OpenRequest {
  readonly options: CheckpointOptions;
  readonly plan: LogicalPlan;
  /** The written folder, and how files are written. */
  readonly folder: string;
  readonly extension: string;
  readonly write: { readonly name: string };
}

const FORMAT = "shoal.data.checkpoint";
const VERSION = 1;
const DESCRIPTION = "checkpoint.json";
const RECORD = /^record-(\d{8,})\.json$/;
const IDS = /^ids-[0-9a-f-]{36}\.arrow$/;

export class WriteCheckpoint implements AsyncDisposable {
  readonly #folder: string;
  readonly #owner: FolderOwner;
  readonly #description: Description;
  #nextRecord = 0;
  /** The recorded files of ids. */
  readonly #ids: string[] = [];
  /** The files of earlier runs. */
  #files: readonly RecordedFile[] = [];
  #recorded: ObjectRef<Block> | undefined;

  private constructor(folder: string, owner: FolderOwner, description: Description) {
    this.#folder = folder;
    this.#owner = owner;
    this.#description = description;
  }

  /**
   * Claims the folder, reads the records, and removes unrecorded files of a killed run.
   *
   * @throws StorageError while another run has the folder; DataError for another plan, a newer version, and written files that are gone
   */
  static async open({ options, plan, folder, extension, write }: OpenRequest): Promise<WriteCheckpoint> {
    const { idColumn } = options;
    const steps = await recordedSteps(plan, write);
    const [path, target] = [await resolveFolder(options.path), await resolveFolder(folder)];
    if (path === target || path.startsWith(`${target}/`))
      throw new DataError(
        `Cannot write to ${shownPath(target)}: readers would take the checkpoint's files for rows: received ${shownPath(path)}`,
        {
          hint: "give the checkpoint a folder beside the written one",
        },
      );
    await makeFolder(path);
    const owner = await FolderOwner.claim(path, `the checkpoint ${shownPath(path)}`);
    try {
      const found = await descriptionAt(path);
      const description = found ?? { format: FORMAT, version: VERSION, idColumn, folder: target, writeId: newWriteId(), steps };
      checkSame(path, description, { idColumn, folder: target, steps });
      if (found === undefined) await writeWhole(joinPath(path, DESCRIPTION), JSON.stringify(description));
      const checkpoint = new WriteCheckpoint(path, owner, description);
      await checkpoint.#load(extension);
      return checkpoint;
    } catch (error) {
      await owner.release();
      throw error;
    }
  }

  /** The id in the names of the written files. */
  get writeId(): string {
    return this.#description.writeId;
  }

  get files(): readonly RecordedFile[] {
    return this.#files;
  }

  /** Where the tasks leave the ids of their rows. */
  get idsPlace(): IdsPlace {
    return { folder: this.#folder, idColumn: this.#description.idColumn };
  }

  /** Aborts if another process has taken the folder. */
  get lost(): AbortSignal {
    return this.#owner.lost;
  }

  /** The plan without the rows of earlier runs. */
  remaining(plan: LogicalPlan): LogicalPlan {
    const { idColumn } = this.#description;
    return withoutRecorded(plan, { idColumn, runId: crypto.randomUUID(), recorded: this.#recorded });
  }

  /** Records files that are in their places. */
  async record(task: RecordOfTask): Promise<void> {
    this.lost.throwIfAborted();
    const name = `record-${String(this.#nextRecord).padStart(8, "0")}.json`;
    await writeWhole(joinPath(this.#folder, name), JSON.stringify(task));
    this.#nextRecord += 1;
    this.#ids.push(task.ids);
  }

  /**
   * Compares the ids of all tasks, at the end of a run.
   *
   * @throws DataError where two rows share an id
   */
  async checkIds(): Promise<void> {
    if (this.#ids.length > 1) await this.#recordedIds();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#recorded?.[Symbol.dispose]();
    await this.#owner.release();
  }

  async #load(extension: string): Promise<void> {
    const { files: names } = await folderNames(this.#folder);
    const records: RecordOfTask[] = [];
    for (const name of names) {
      const number = RECORD.exec(name)?.[1];
      if (number === undefined) continue;
      records.push(recordIn(await readText(joinPath(this.#folder, name)), joinPath(this.#folder, name)));
      this.#nextRecord = Number(number) + 1;
    }
    const named = new Set(records.map(({ ids }) => ids));
    for (const name of named) this.#ids.push(name);
    this.#files = records.flatMap(({ files }) => files);
    await this.#removeUnrecorded(extension);
    await removeFiles(names.filter((name) => IDS.test(name) && !named.has(name)).map((name) => joinPath(this.#folder, name)));
    if (named.size === 0) return;
    this.#recorded = put(await this.#recordedIds());
  }

  /** @throws DataError where two rows share an id */
  async #recordedIds(): Promise<Block> {
    const blocks: Block[] = [];
    for (const name of this.#ids) blocks.push(await readIds(this.#folder, name));
    return checkedIds(this.#description.idColumn, concatBlocks(blocks));
  }

  /** Removes written files that no record names, and misses those that are gone. */
  async #removeUnrecorded(extension: string): Promise<void> {
    const { folder, writeId } = this.#description;
    const found = (await listFiles(folder, { ignoreMissingPaths: true })).map(({ path }) => path);
    const there = new Set(found);
    const recorded = new Set(this.#files.map(({ path }) => path));
    const gone = this.#files.find(({ path }) => !there.has(path));
    if (gone !== undefined)
      throw new DataError(
        `Cannot resume from ${shownPath(this.#folder)}: a file with recorded rows is gone: received ${shownPath(gone.path)}`,
        {
          hint: "put the file back, or give another path, which begins anew",
        },
      );
    const ending = `-${writeId}${extension}`;
    await removeFiles(found.filter((path) => path.endsWith(ending) && !recorded.has(path)));
  }
}

function newWriteId(): string {
  return crypto.randomUUID().slice(0, 8);
}

/** @throws DataError where two rows share an id */
function checkedIds(idColumn: string, block: Block): Block {
  const [ids] = block.vectors as [Vector];
  const { ids: groups, firstRows } = groupRows([ids], block.rowCount);
  if (firstRows.length === block.rowCount) return block;
  throw sharedId(idColumn, columnReader(idColumn, ids)(groups.findIndex((group, i) => firstRows[group] !== i)));
}

async function descriptionAt(path: string): Promise<Description | undefined> {
  const file = joinPath(path, DESCRIPTION);
  const text = await readTextIfThere(file);
  if (text === undefined) return undefined;
  const found = parsed(text);
  if (!isPlainObject(found) || found["format"] !== FORMAT || !Number.isSafeInteger(found["version"])) throw foreign(file);
  if (found["version"] !== VERSION)
    throw new DataError(
      `Cannot resume from ${shownPath(path)}: this version reads checkpoints of version ${VERSION}: received ${String(found["version"])}`,
      {
        hint: "resume with the version of Shoal that began the run",
      },
    );
  const { idColumn, folder, writeId, steps } = found;
  const areTexts = [idColumn, folder, writeId].every((value) => typeof value === "string") && /^[0-9a-f]{8}$/.test(writeId as string);
  if (!areTexts || !Array.isArray(steps) || !steps.every(isStep)) throw foreign(file);
  return found as unknown as Description;
}

function isStep(step: unknown): step is RecordedStep {
  return isPlainObject(step) && typeof step["name"] === "string" && typeof step["hash"] === "string";
}

function recordIn(text: string, path: string): RecordOfTask {
  const found = parsed(text);
  if (!isPlainObject(found) || typeof found["ids"] !== "string" || !IDS.test(found["ids"]) || !Array.isArray(found["files"]))
    throw foreign(path);
  if (!found["files"].every(isRecordedFile)) throw foreign(path);
  return found as unknown as RecordOfTask;
}

function isRecordedFile(file: unknown): file is RecordedFile {
  if (!isPlainObject(file)) return false;
  const { path, sizeBytes, rowCount, columns } = file;
  return (
    typeof path === "string" &&
    Number.isSafeInteger(sizeBytes) &&
    Number.isSafeInteger(rowCount) &&
    (columns === null || typeof columns === "string")
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function foreign(path: string): DataError {
  return new DataError(`Cannot resume: the file is no part of a checkpoint: received ${shownPath(path)}`, {
    hint: "give the path of an empty folder, or of a checkpoint",
  });
}

/** @throws DataError where a checkpoint is of another write */
function checkSame(
  path: string,
  recorded: Description,
  { idColumn, folder, steps }: Pick<Description, "idColumn" | "folder" | "steps">,
): void {
  for (const [name, before, now] of [
    ["idColumn", recorded.idColumn, idColumn],
    ["folder", recorded.folder, folder],
  ] as const)
    if (before !== now)
      throw new DataError(`Cannot resume from ${shownPath(path)}: ${name} was ${JSON.stringify(before)}: received ${JSON.stringify(now)}`, {
        hint: "give what the run of before had, or another path, which begins anew",
      });
  checkSameSteps(shownPath(path), recorded.steps, steps);
}
