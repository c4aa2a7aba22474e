/**
 * The checkpoints in a run's storage: stored whole or not at all, listed, and removed.
 *
 * Every rank with files copies its part to a staging place (`persistCheckpoint`). When all parts exist, the controller completes the
 * checkpoint: it compares the parts, writes the record and, if the storage has folders, renames the staged folder. The remains of a process
 * that dies earlier are not listed by `listCheckpoints`, and `removeUnfinishedCheckpoints` removes them. The same name may be completed
 * twice; it must not be used by two attempts at the same time.
 */
import {
  fileExists,
  folderExists,
  copyFolder,
  type CopiedFile,
  folderFiles,
  folderNames,
  renameFolder,
  writeWhole,
} from "../../storage/listing/folders.ts";
import { joinPath, schemeOf, shownPath } from "../../storage/paths.ts";
import { makeFolder, removeFiles, removeFolder } from "../../storage/places.ts";
import { readTextIfThere } from "../../storage/read-file.ts";
import { Checkpoint } from "./checkpoint.ts";
import { CHECKPOINT_RECORD, type CheckpointRecord, isContent, readRecord, recordText, REMOVAL_MARK } from "./checkpoint-record.ts";
import { RunError } from "../errors.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { checkName } from "../folder/run-names.ts";

const STAGED_SUFFIX = ".partial";

/** The files that one rank has put into the staging place of a checkpoint. Plain data, because the rank sends it to the controller. */
export interface CheckpointPart {
  readonly rank: number;
  readonly files: readonly CopiedFile[];
}

interface CheckpointSource {
  /** The folder with the rank's files. */
  readonly from: string;
  /** The checkpoint to be: a folder of the run. */
  readonly to: string;
  /** The rank that wrote the files. Default: 0. */
  readonly rank?: number;
  /** Whether other ranks have files, too: all files are then hashed, so that differing files of one name are found. Default: false. */
  readonly hasOthers?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Copies a rank's files to the staging place of a checkpoint. Runs where the files are. May be called again after a failure. */
export async function persistCheckpoint({ from, to, rank = 0, hasOthers = false, signal }: CheckpointSource): Promise<CheckpointPart> {
  const staged = stagedPath(to);
  if (!(await folderExists(from)))
    throw new RunError(`Cannot read the checkpoint ${shownPath(from)}: there is no such folder`, {
      hint: "report it before its folder is removed, from the node that it is on",
    });
  const files = await copyFolder({ from, to: staged, takes: isContent, isHashed: hasOthers, signal });
  return { rank, files };
}

interface CheckpointCompletion {
  readonly to: string;
  /** Parts of all ranks that had files. */
  readonly parts: readonly CheckpointPart[];
  readonly metrics: Metrics;
}

/**
 * Makes the parts one checkpoint. Files of the staging place that belong to no part are removed: an earlier attempt has left them.
 *
 * @throws RunError where two ranks have written different files under one name
 */
export async function completeCheckpoint({ to, parts, metrics }: CheckpointCompletion): Promise<Checkpoint> {
  const files = mergedFiles(parts, to);
  const staged = stagedPath(to);
  const there = await folderFiles(staged);
  if (there.length === 0 && (await isComplete(to))) return Checkpoint.fromDirectory(to);
  const left = new Map(there.map(({ name, sizeBytes }) => [name, sizeBytes]));
  for (const { name, sizeBytes } of files) {
    const found = left.get(name);
    if (found !== sizeBytes)
      throw new RunError(
        `Cannot complete the checkpoint ${shownPath(to)}: its file ${name} is not there as it was written: ${found ?? "no"} bytes of ${sizeBytes}`,
        {
          hint: "every node must see the same storage: storagePath: a shared folder or s3://…",
        },
      );
    left.delete(name);
  }
  left.delete(CHECKPOINT_RECORD);
  await removeFiles([...left.keys()].map((name) => joinPath(staged, name)));
  await makeFolder(staged);
  await writeWhole(joinPath(staged, CHECKPOINT_RECORD), recordText({ metrics, files, completedAt: Date.now() }));
  if (staged !== to) await renameFolder(staged, to);
  return Checkpoint.fromDirectory(to);
}

/** The files of all parts, sorted. @throws RunError where two ranks have different files of one name */
function mergedFiles(parts: readonly CheckpointPart[], to: string): CopiedFile[] {
  const merged = new Map<string, CopiedFile & { readonly rank: number }>();
  for (const { rank, files } of parts) {
    for (const file of files) {
      const other = merged.get(file.name);
      if (other !== undefined && (other.sizeBytes !== file.sizeBytes || other.sha256 !== file.sha256 || file.sha256 === undefined))
        throw new RunError(
          `Cannot complete the checkpoint ${shownPath(to)}: ranks ${other.rank} and ${rank} have different files ${file.name}`,
          {
            hint: "put the rank into the names of files that each rank writes, or let one rank report the checkpoint",
          },
        );
      merged.set(file.name, { ...file, rank });
    }
  }
  return [...merged.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Makes a folder a complete checkpoint in place, since its writer has put it there whole.
 *
 * @throws RunError where there is no such folder
 */
export async function adoptCheckpoint({ path, metrics }: { readonly path: string; readonly metrics: Metrics }): Promise<void> {
  if (!(await folderExists(path)))
    throw new RunError(`Cannot keep the checkpoint ${shownPath(path)}: there is no such folder`, {
      hint: 'with the upload mode "none" a checkpoint is in its place, whole, before it is reported',
    });
  const files = (await folderFiles(path)).filter(({ name }) => isContent(name));
  await writeWhole(joinPath(path, CHECKPOINT_RECORD), recordText({ metrics, files, completedAt: Date.now() }));
}

/** Drops the staged parts of a checkpoint that will not be completed. */
export async function discardCheckpoint(to: string): Promise<void> {
  await removeFolder(stagedPath(to));
}

/** Removes a checkpoint. The remains of an interrupted removal are not listed, and readers take the checkpoint for removed. */
export async function removeCheckpoint({ path }: Pick<Checkpoint, "path">, remove: typeof removeFiles = removeFiles): Promise<void> {
  // Removes the record first, so that a half removed checkpoint does not count. If the storage can, the rest goes in one step, so that
  // nobody takes the remains for a checkpoint without a record.
  await remove([joinPath(path, CHECKPOINT_RECORD)]);
  const cut = path.lastIndexOf("/");
  const aside = `${path.slice(0, cut)}/.${path.slice(cut + 1)}.removed${STAGED_SUFFIX}`;
  const isAside = schemeOf(path) === "file" && (await renameFolder(path, aside).catch(() => false));
  if (!isAside) await removeContents(path, remove);
  await removeFolder(isAside ? aside : path);
}

/** Removes the files one by one, under a mark. */
async function removeContents(path: string, remove: typeof removeFiles): Promise<void> {
  const files = (await folderFiles(path)).filter(({ name }) => name !== REMOVAL_MARK);
  if (files.length === 0) return;
  await writeWhole(joinPath(path, REMOVAL_MARK), "removed\n");
  await remove(files.map(({ name }) => joinPath(path, name)));
}

/** A complete checkpoint of a run. */
export interface StoredCheckpoint extends CheckpointRecord {
  readonly name: string;
  readonly checkpoint: Checkpoint;
}

/** Returns the complete checkpoints directly in a folder, in order of completion. */
export async function listCheckpoints(folder: string): Promise<StoredCheckpoint[]> {
  const { folders } = await folderNames(folder);
  const found = await Promise.all(folders.filter((name) => !name.startsWith(".")).map((name) => storedCheckpoint(folder, name)));
  return found.filter((stored) => stored !== undefined).sort((a, b) => a.completedAt - b.completedAt || (a.name < b.name ? -1 : 1));
}

async function storedCheckpoint(folder: string, name: string): Promise<StoredCheckpoint | undefined> {
  const path = joinPath(folder, name);
  const record = await recordAt(path);
  return record === undefined ? undefined : { ...record, name, checkpoint: Checkpoint.fromDirectory(path) };
}

async function recordAt(path: string): Promise<CheckpointRecord | undefined> {
  const text = await readTextIfThere(joinPath(path, CHECKPOINT_RECORD));
  return text === undefined ? undefined : readRecord(text, path);
}

async function isComplete(path: string): Promise<boolean> {
  return (await recordAt(path)) !== undefined;
}

/** Removes remains of dead processes' checkpoints that were never completed. Nobody may write checkpoints of this folder meanwhile. */
export async function removeUnfinishedCheckpoints(folder: string): Promise<void> {
  const { folders } = await folderNames(folder);
  for (const name of folders) {
    const path = joinPath(folder, name);
    const isStaged = name.startsWith(".") && name.endsWith(STAGED_SUFFIX);
    if (isStaged) await removeFolder(path);
    else if (name.startsWith(CHECKPOINT_PREFIX) && !(await fileExists(joinPath(path, CHECKPOINT_RECORD)))) await removeCheckpoint({ path });
  }
}

const CHECKPOINT_PREFIX = "checkpoint_";

/** Name of a run's checkpoint by its number, as in Ray: `checkpoint_000003`. */
export function checkpointName(index: number): string {
  return `${CHECKPOINT_PREFIX}${String(index).padStart(6, "0")}`;
}

/** Staging place of a checkpoint: beside it if the storage renames folders in one step, else its own place. */
function stagedPath(to: string): string {
  const cut = to.lastIndexOf("/");
  const name = to.slice(cut + 1);
  checkName(name, "Cannot write a checkpoint: its name");
  return schemeOf(to) === "file" ? `${to.slice(0, cut)}/.${name}${STAGED_SUFFIX}` : to;
}
