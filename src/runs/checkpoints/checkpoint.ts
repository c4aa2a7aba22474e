/**
 * A checkpoint: a folder from which a run continues, on this machine or in S3.
 *
 * A `Checkpoint` is only the folder's path, so it travels in messages at no cost. Python has the same class over the same folders
 * (`python/shoal/_checkpoint.py`). Metadata is a file in the folder, under the name that Ray gives it. The run of a checkpoint may remove
 * it while others read it (`numToKeep`): they then read an incomplete checkpoint, and get an error that says so.
 */
import { custom, describeValue, newTemporaryFolder, type Option, registerSerializer } from "../../core/internal.ts";
import { copyFolder, fileExists, folderExists, folderFiles, writeWhole } from "../../storage/listing/folders.ts";
import { joinPath, localPath, schemeOf, shownPath } from "../../storage/paths.ts";
import { makeFolder, removeFolder, resolveFolder } from "../../storage/places.ts";
import { readText, readTextIfThere } from "../../storage/read-file.ts";
import { closeSharedCopy, openSharedCopy, type SharedCopy } from "../../storage/local/shared-copy.ts";
import { CHECKPOINT_RECORD, isContent, REMOVAL_MARK } from "./checkpoint-record.ts";
import { causesOf, RunError } from "../errors.ts";
import { checkMetrics, type Metrics, metricsText, parseMetrics } from "../metrics/metrics.ts";

const METADATA = ".metadata.json";

export class Checkpoint {
  /** The folder: an absolute path, or a URL such as `s3://bucket/run/checkpoint_000003`. */
  readonly path: string;

  /**
   * The checkpoint that a folder holds. Nothing is copied and nothing is read.
   *
   * @throws TypeError for anything but the path of a folder
   */
  constructor(path: string) {
    if (typeof path !== "string" || path === "")
      throw new TypeError(`Cannot make a checkpoint: the path of a folder is needed: received ${describeValue(path)}`);
    this.path = fullPath(path);
    Object.freeze(this);
  }

  /** The checkpoint that a folder holds, as the constructor makes it. */
  static fromDirectory(path: string): Checkpoint {
    return receivedCheckpoint(path);
  }

  /**
   * Copies the checkpoint into a folder of this machine.
   *
   * @param path - Default: a new temporary folder, which is the caller's to remove
   * @returns the folder
   * @throws RunError if the checkpoint does not exist, or is removed before the copy is complete
   */
  async toDirectory(path?: string): Promise<string> {
    const { isGone, removed } = await this.#opened();
    const folder = path === undefined ? newTemporaryFolder("shoal-checkpoint-") : await resolveFolder(path);
    try {
      await makeFolder(folder);
      await copyFolder({ from: this.path, to: folder, takes: isContent });
      // Files that were removed before they were listed are missing without an error.
      if (await isGone()) throw removed();
      return folder;
    } catch (error) {
      if (path === undefined) await removeFolder(folder);
      const isRemoved = !(error instanceof RunError) && (await isGone().catch(() => false));
      throw isRemoved ? removed(error) : error;
    }
  }

  /**
   * Calls a function with a folder of this machine that holds the checkpoint: its own folder if it is local, else a copy that is removed
   * afterwards. Processes of a machine that open the same checkpoint at the same time share one read-only copy.
   *
   * @throws RunError if the checkpoint does not exist, or the function misses a file because the checkpoint was removed meanwhile
   * @example
   * const weights = await checkpoint.asDirectory((path) => readFile(join(path, "weights.json"), "utf8"));
   */
  async asDirectory<R>(use: (path: string) => R | Promise<R>): Promise<R> {
    if (typeof use !== "function")
      throw new TypeError(`Cannot open a checkpoint: asDirectory takes a function of the folder's path: received ${describeValue(use)}`);
    if (schemeOf(this.path) === "file") {
      const { isGone, removed } = await this.#opened();
      try {
        return await use(this.path);
      } catch (error) {
        throw isOfMissingFile(error) && (await isGone()) ? removed(error) : error;
      }
    }
    const copy = await openedCopy(this, process.pid);
    try {
      return await use(copy.path);
    } finally {
      await closeSharedCopy(copy);
    }
  }

  /** The metadata: values of JSON beside the files. Empty if none were set. */
  async getMetadata(): Promise<Metrics> {
    const path = joinPath(this.path, METADATA);
    const text = await readTextIfThere(path);
    if (text === undefined) return {};
    try {
      return parseMetrics(text) as Metrics;
    } catch (cause) {
      throw new RunError(`Cannot read the metadata of a checkpoint: ${shownPath(path)} holds no JSON`, { cause });
    }
  }

  /** Sets the metadata, in place of the earlier ones. */
  async setMetadata(metadata: Metrics): Promise<void> {
    const checked = checkMetrics(metadata, "Cannot set the metadata of a checkpoint");
    await makeFolder(this.path);
    await writeWhole(joinPath(this.path, METADATA), metricsText(checked));
  }

  /** Adds to the metadata; other names keep their values. */
  async updateMetadata(metadata: Metrics): Promise<void> {
    const checked = checkMetrics(metadata, "Cannot update the metadata of a checkpoint");
    await this.setMetadata({ ...(await this.getMetadata()), ...checked });
  }

  toString(): string {
    return `Checkpoint(${shownPath(this.path)})`;
  }

  /**
   * @returns functions for whether the checkpoint was removed since, and for the error. The removal of a stored one begins with its record;
   * one whose removal has begun before has its mark
   * @throws RunError where there is no such folder, or its removal has begun
   */
  async #opened(): Promise<{ isGone: () => Promise<boolean>; removed: (cause?: unknown) => RunError }> {
    if (!(await folderExists(this.path)))
      throw new RunError(`Cannot open the checkpoint ${shownPath(this.path)}: there is no such folder`, {
        hint: "a checkpoint that other nodes read lies in a storage that all of them see (storagePath: a shared folder or s3://…), and numToKeep of its run removes older ones",
      });
    const record = joinPath(this.path, CHECKPOINT_RECORD);
    const isStored = await fileExists(record);
    const mark = joinPath(this.path, REMOVAL_MARK);
    if (!isStored && (await fileExists(mark))) throw removedMeanwhile(this.path, { isStored: true, cause: undefined });
    return {
      // The mark is removed last, so the folder is checked after it.
      isGone: async () => (isStored ? !(await fileExists(record)) : (await fileExists(mark)) || !(await folderExists(this.path))),
      removed: (cause) => removedMeanwhile(this.path, { isStored, cause }),
    };
  }
}

/** The option `checkpoint` of the functions `report` of Train and of Tune. */
export const CHECKPOINT_OPTION: Option<Checkpoint | undefined> = custom(
  "a Checkpoint is needed, such as Checkpoint.fromDirectory(folder)",
  undefined,
  (value) => (value instanceof Checkpoint ? "ok" : "wrong type"),
);

/** The shared copy of a checkpoint that is not of this machine, for a process. Its user closes it. */
export async function openedCopy(checkpoint: Checkpoint, pid: number): Promise<SharedCopy> {
  const { path } = checkpoint;
  const record = joinPath(path, CHECKPOINT_RECORD);
  // The same path may name another checkpoint later, or in another server with the same buckets.
  const contents = (await fileExists(record)) ? await recordOf(path, record) : await folderFiles(path);
  const { AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_S3 } = process.env;
  const key = JSON.stringify([path, AWS_ENDPOINT_URL_S3 ?? AWS_ENDPOINT_URL, contents]);
  return await openSharedCopy({ key, pid, fetch: (folder) => checkpoint.toDirectory(folder) });
}

async function recordOf(path: string, record: string): Promise<string> {
  try {
    return await readText(record);
  } catch (error) {
    throw (await fileExists(record).catch(() => true)) ? error : removedMeanwhile(path, { isStored: true, cause: error });
  }
}

/** A stored checkpoint is its run's to remove; another folder is not. */
function removedMeanwhile(path: string, { isStored, cause }: { isStored: boolean; cause: unknown }): RunError {
  const why = isStored ? ", as numToKeep of its run keeps others" : "";
  return new RunError(`Cannot read the checkpoint ${shownPath(path)}: it was removed meanwhile${why}`, {
    hint: isStored
      ? "set numToKeep of checkpointConfig higher, or read a checkpoint before the next ones are reported"
      : "keep its folder until it has been read",
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Whether an error, or a cause behind it, is that a file does not exist. */
function isOfMissingFile(error: unknown): boolean {
  return causesOf(error).some((each) => (each as NodeJS.ErrnoException).code === "ENOENT");
}

function fullPath(path: string): string {
  const scheme = schemeOf(path);
  if (scheme === "http")
    throw new TypeError(`Cannot make a checkpoint: a folder of this machine or of s3:// is needed: received ${shownPath(path)}`);
  return scheme === "file" ? localPath(path) : path.replace(/\/+$/, "");
}

registerSerializer(Checkpoint, {
  serialize: ({ path }) => path,
  deserialize: receivedCheckpoint,
  python: "shoal._checkpoint:Checkpoint",
});

/** Exported for the worker alone, which imports it to read a checkpoint. The class does not name itself: the bundler would give it another name. */
export function receivedCheckpoint(path: string): Checkpoint {
  return new Checkpoint(path);
}
