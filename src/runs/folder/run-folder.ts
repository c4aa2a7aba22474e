/**
 * The folder of a run: `storagePath/name`, for one driver at a time.
 *
 * The file `run.json` records the library and the state of the run. From this record the opener decides whether to continue, begin anew or
 * refuse. A folder with files and without a record is no run, and is left alone.
 */
import { FolderOwner } from "../../storage/folder-owner.ts";
import { folderExists, folderNames, writeWhole } from "../../storage/listing/folders.ts";
import { joinPath, shownPath } from "../../storage/paths.ts";
import { makeFolder, removeFiles, removeFolder } from "../../storage/places.ts";
import { readTextIfThere } from "../../storage/read-file.ts";
import { RunError } from "../errors.ts";
import { type Metrics, metricsText, parseMetrics } from "../metrics/metrics.ts";
import type { RunLibrary } from "../run-config.ts";
import { checkName, defaultRunName } from "./run-names.ts";

/** Folders that this process has chosen for runs without a name: their files may not be there yet. */
const chosen = new Set<string>();

const RECORD = "run.json";
const FORMAT = "shoal-run";
const VERSION = 1;

type RunState = "running" | "finished" | "failed";

/** The contents of `run.json`. */
export interface RunRecord {
  readonly library: RunLibrary;
  /** Stays `running` where the driver has died. */
  readonly state: RunState;
  /** Details that the library records: values of JSON without secrets. */
  readonly details: Metrics;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

interface RunPlace {
  /** The folder of all runs, in full. */
  readonly storagePath: string;
  readonly name: string;
}

export class RunFolder implements AsyncDisposable {
  readonly name: string;
  readonly path: string;
  #record: RunRecord | undefined;
  readonly #owner: FolderOwner;

  private constructor(name: string, path: string, { owner, record }: { owner: FolderOwner; record: RunRecord | undefined }) {
    this.name = name;
    this.path = path;
    this.#owner = owner;
    this.#record = record;
  }

  /**
   * Makes the folder where it is not there, and claims it for this process.
   *
   * @throws StorageError while another driver runs it, and where nothing can be written; RunError for a folder that is no run, or one of a newer version
   */
  static async open({ storagePath, name }: RunPlace): Promise<RunFolder> {
    checkName(name, "Cannot open a run: its name");
    const path = joinPath(storagePath, name);
    await makeFolder(path);
    const record = await readRunRecord(path);
    if (record === undefined) await mustBeEmpty(path);
    const owner = await FolderOwner.claim(path, `the run ${JSON.stringify(name)}`);
    // Read again: the last owner may have ended it in between.
    return new RunFolder(name, path, { owner, record: await readRunRecord(path) });
  }

  /** Opens a folder for a run without a given name: `prefix` and the time, with a number if several runs begin within a second. */
  static async openUnnamed({ storagePath, prefix }: { storagePath: string; prefix: string }): Promise<RunFolder> {
    const base = defaultRunName(prefix, new Date());
    for (let count = 1; ; count += 1) {
      const name = count === 1 ? base : `${base}_${count}`;
      const path = joinPath(storagePath, name);
      if (chosen.has(path)) continue;
      chosen.add(path);
      if (!(await folderExists(path))) return await RunFolder.open({ storagePath, name });
    }
  }

  /** Undefined until `write` is called for a new run. */
  get record(): RunRecord | undefined {
    return this.#record;
  }

  /** Aborts when another driver has taken the run, as this one was frozen. */
  get lost(): AbortSignal {
    return this.#owner.lost;
  }

  /** Sets the record, whole. */
  async write(record: RunRecord): Promise<void> {
    this.lost.throwIfAborted();
    await writeWhole(joinPath(this.path, RECORD), `${metricsText({ format: FORMAT, version: VERSION, ...record })}\n`);
    this.#record = record;
  }

  /** Removes everything that an earlier run of this name has left, so that the run begins anew. */
  async clear(): Promise<void> {
    const { files, folders } = await folderNames(this.path);
    // Removes the record first: remains of an interrupted removal must not look like a run that can continue.
    await removeFiles(files.filter((name) => name === RECORD).map((name) => joinPath(this.path, name)));
    this.#record = undefined;
    for (const name of folders) await removeFolder(joinPath(this.path, name));
    await removeFiles(files.filter((name) => !name.startsWith(".owner") && name !== RECORD).map((name) => joinPath(this.path, name)));
  }

  /** Gives the folder up for others. */
  async close(): Promise<void> {
    await this.#owner.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** The record of a run's folder; undefined if there is none. @throws RunError for a record that is damaged or of a newer version */
export async function readRunRecord(path: string): Promise<RunRecord | undefined> {
  const file = joinPath(path, RECORD);
  const text = await readTextIfThere(file);
  if (text === undefined) return undefined;
  let parsed: unknown;
  try {
    parsed = parseMetrics(text);
  } catch (cause) {
    throw new RunError(`Cannot open the run ${shownPath(path)}: its ${RECORD} is damaged`, { cause });
  }
  const { format, version, library, state, details, startedAt } = (parsed ?? {}) as Record<string, unknown>;
  if (format !== FORMAT || typeof version !== "number")
    throw new RunError(`Cannot open the run ${shownPath(path)}: its ${RECORD} is no record of a run`);
  if (version > VERSION)
    throw new RunError(`Cannot open the run ${shownPath(path)}: it is of version ${version}, and this Shoal reads up to ${VERSION}`, {
      hint: "go on with the version of Shoal that wrote it, or a newer one",
    });
  return { library, state, details, startedAt } as RunRecord;
}

async function mustBeEmpty(path: string): Promise<void> {
  const { files, folders } = await folderNames(path);
  const found = [...files, ...folders].find((name) => !name.startsWith("."));
  if (found === undefined) return;
  throw new RunError(`Cannot start a run in ${shownPath(path)}: the folder holds ${JSON.stringify(found)} and no run of Shoal`, {
    hint: "give the run another name, or another storagePath",
  });
}
