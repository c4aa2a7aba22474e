/**
 * The durable state of a run: a log of records, shortened by snapshots from time to time.
 *
 * A record is durable when `append` resolves; records that are appended together share one write. The log consists of segments, each of a
 * generation. A snapshot of generation `g` replaces all records of earlier generations, so the state is the newest snapshot and all records
 * since that generation, in order. Each opening, and each failed write, begins a new segment. So only the last line of a segment can be
 * torn, and nothing is ever changed in place. On S3, which cannot append, each write is a segment.
 *
 * A failed write leaves a gap: later records are refused until a snapshot covers the missing ones, so a reader always sees a past state.
 */
import { type AppendedFile, openAppended } from "../../storage/appending/appended-file.ts";
import { folderNames, writeWhole } from "../../storage/listing/folders.ts";
import { joinPath, schemeOf, shownPath } from "../../storage/paths.ts";
import { removeFiles } from "../../storage/places.ts";
import { readText } from "../../storage/read-file.ts";
import { RunError } from "../errors.ts";
import { LOG_GATHER_MS, LOG_SEGMENTS_READ_AT_A_TIME, SNAPSHOT_FROM_LOG_BYTES } from "../limits.ts";
import { type JsonValue, metricsText, parseMetrics } from "../metrics/metrics.ts";

const FORMAT = "shoal-run-log";
const VERSION = 1;
const HEADER = `${metricsText({ format: FORMAT, version: VERSION })}\n`;

interface RunLogPlace {
  readonly folder: string;
  /** Prefix of the log's file names, such as `experiment_state`. */
  readonly name: string;
}

/** The contents of a log when it was opened. */
interface LoggedState {
  readonly snapshot: JsonValue | undefined;
  /** Records since the snapshot, in order. */
  readonly records: readonly JsonValue[];
}

interface Waiting {
  readonly line: string;
  readonly generation: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A file of the log, by its name. */
interface LogFile {
  readonly file: string;
  readonly generation: number;
  /** Undefined: a snapshot. */
  readonly segment: number | undefined;
}

export class RunLog implements AsyncDisposable {
  readonly #place: RunLogPlace;
  readonly #appends: boolean;
  /** Generation of new records. */
  #generation: number;
  /** Generation and segment of the file that is being written. */
  #written: { generation: number; segment: number };
  #file: AppendedFile | undefined;
  #waiting: Waiting[] = [];
  #work: Promise<void> | undefined;
  #logBytes: number;
  #snapshotBytes: number;
  #isClosed = false;
  readonly #closing = Promise.withResolvers<void>();
  /** When the last write ended. */
  #writtenMs = Number.NEGATIVE_INFINITY;
  /** The first write that failed, and the last generation that lacks a record for it. */
  #gap: { readonly error: unknown; generation: number } | undefined;
  /** The last snapshot that was begun. */
  #snapshot: { readonly generation: number; readonly isWritten: Promise<boolean> } | undefined;

  private constructor(
    place: RunLogPlace,
    files: readonly LogFile[],
    { logBytes, snapshotBytes }: { logBytes: number; snapshotBytes: number },
  ) {
    this.#place = place;
    this.#appends = schemeOf(place.folder) === "file";
    this.#generation = Math.max(0, ...files.map(({ generation }) => generation));
    const segments = files.filter(({ generation }) => generation === this.#generation).map(({ segment }) => segment ?? -1);
    this.#written = { generation: this.#generation, segment: 1 + Math.max(-1, ...segments) };
    this.#logBytes = logBytes;
    this.#snapshotBytes = snapshotBytes;
  }

  /** Opens a log, which may not exist yet. @throws RunError that names a damaged file, or one of a newer version */
  static async open(place: RunLogPlace): Promise<{ readonly log: RunLog } & LoggedState> {
    const files = await logFiles(place);
    const newest = files.filter(({ segment }) => segment === undefined).at(-1);
    const since = files.filter(({ generation, segment }) => segment !== undefined && generation >= (newest?.generation ?? 0));
    const snapshot = newest === undefined ? undefined : await readSnapshot(joinPath(place.folder, newest.file));
    const records: JsonValue[] = [];
    let logBytes = 0;
    for (let i = 0; i < since.length; i += LOG_SEGMENTS_READ_AT_A_TIME) {
      const some = since.slice(i, i + LOG_SEGMENTS_READ_AT_A_TIME);
      for (const segment of await Promise.all(some.map(({ file }) => readSegment(joinPath(place.folder, file))))) {
        for (const record of segment.records) records.push(record);
        logBytes += segment.bytes;
      }
    }
    const log = new RunLog(place, files, { logBytes, snapshotBytes: snapshot?.bytes ?? 0 });
    return { log, snapshot: snapshot?.state, records };
  }

  /** Whether the log is long enough that a snapshot pays: reading and writing stay linear in the number of events. */
  get isSnapshotDue(): boolean {
    return this.#logBytes >= Math.max(SNAPSHOT_FROM_LOG_BYTES, this.#snapshotBytes);
  }

  /** Adds a record. @returns when it is durable @throws StorageError where it cannot be written; so do all later ones, until a snapshot is written */
  append(record: JsonValue): Promise<void> {
    return this.#enqueue(`${metricsText(record)}\n`);
  }

  /**
   * Replaces all records up to now by a state that they led to.
   *
   * @param state - as of now: records that are appended from now on apply on top
   */
  async snapshot(state: JsonValue): Promise<void> {
    const text = `${metricsText({ format: FORMAT, version: VERSION, state })}\n`;
    const replacedBytes = this.#logBytes;
    this.#generation += 1;
    this.#logBytes = 0;
    const generation = this.#generation;
    const writing = writeWhole(joinPath(this.#place.folder, fileName(this.#place.name, generation)), text);
    const isWritten = writing.then(
      () => true,
      () => false,
    );
    this.#snapshot = { generation, isWritten };
    try {
      await writing;
    } catch (error) {
      // The records of the previous generation remain.
      this.#logBytes += replacedBytes;
      throw error;
    }
    this.#snapshotBytes = text.length;
    if (this.#gap !== undefined && this.#gap.generation < generation) this.#gap = undefined;
    const old = (await logFiles(this.#place)).filter((file) => file.generation < generation);
    await removeFiles(old.map(({ file }) => joinPath(this.#place.folder, file)));
  }

  /** Waits until all records are durable. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#closing.resolve();
    await this.#work;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #enqueue(line: string): Promise<void> {
    if (this.#isClosed) return Promise.reject(new RunError("Cannot append to the log of a run: it is closed"));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ line, generation: this.#generation, resolve, reject });
      this.#work ??= this.#drain();
    });
  }

  async #drain(): Promise<void> {
    // Records appended in the same turn share one write; if there are many, so do those of a short time.
    await Promise.resolve();
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      await this.#gather();
      const { generation } = first;
      const batch = this.#waiting.filter((waiting) => waiting.generation === generation);
      this.#waiting = this.#waiting.slice(batch.length);
      try {
        await this.#pastGap(generation);
        await this.#write(batch.map(({ line }) => line).join(""), generation);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        // The failed write may have left a partial line: the next write begins another segment.
        this.#file = undefined;
        this.#written.segment += 1;
        this.#gap ??= { error, generation };
        this.#gap.generation = generation;
        for (const { reject } of batch) reject(error);
      }
    }
    this.#work = undefined;
  }

  /** Waits a little where the last write was a moment ago: each costs a file system as much as many records. */
  async #gather(): Promise<void> {
    const waitMs = this.#writtenMs + LOG_GATHER_MS - performance.now();
    if (waitMs <= 0 || this.#isClosed) return;
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([new Promise((resolve) => (timer = setTimeout(resolve, waitMs))), this.#closing.promise]);
    clearTimeout(timer);
  }

  /** @throws the error that made the gap, unless a snapshot covers everything before these records */
  async #pastGap(generation: number): Promise<void> {
    const gap = this.#gap;
    if (gap === undefined) return;
    const snapshot = this.#snapshot;
    if (generation > gap.generation && snapshot?.generation === generation && (await snapshot.isWritten)) this.#gap = undefined;
    else throw gap.error;
  }

  async #write(lines: string, generation: number): Promise<void> {
    if (this.#written.generation !== generation) {
      this.#written = { generation, segment: 0 };
      this.#file = undefined;
    }
    const path = joinPath(this.#place.folder, fileName(this.#place.name, generation, this.#written.segment));
    if (!this.#appends) {
      await writeWhole(path, HEADER + lines);
      this.#written.segment += 1;
    } else {
      const isNew = this.#file === undefined;
      const file = (this.#file ??= await openAppended(path));
      await file.appendDurably(isNew ? HEADER + lines : lines);
    }
    this.#logBytes += lines.length;
    this.#writtenMs = performance.now();
  }
}

function fileName(name: string, generation: number, segment?: number): string {
  const digits = (value: number): string => String(value).padStart(6, "0");
  return segment === undefined ? `${name}-${digits(generation)}.json` : `${name}-${digits(generation)}-${digits(segment)}.log`;
}

/** The files of a log, in order. */
async function logFiles({ folder, name }: RunLogPlace): Promise<LogFile[]> {
  const { files } = await folderNames(folder);
  const found = files.flatMap((file): LogFile[] => {
    if (!file.startsWith(`${name}-`)) return [];
    const parts = /^(\d{6,})(?:\.json|-(\d{6,})\.log)$/.exec(file.slice(name.length + 1));
    if (parts === null) return [];
    return [{ file, generation: Number(parts[1]), segment: parts[2] === undefined ? undefined : Number(parts[2]) }];
  });
  return found.sort((a, b) => a.generation - b.generation || (a.segment ?? -1) - (b.segment ?? -1));
}

async function readSnapshot(path: string): Promise<{ state: JsonValue; bytes: number }> {
  const text = await readText(path);
  let parsed: unknown;
  try {
    parsed = parseMetrics(text);
  } catch (cause) {
    throw new RunError(`Cannot read the state of a run: ${shownPath(path)} is damaged`, { cause });
  }
  checkHeader(parsed, path);
  return { state: (parsed as { state: JsonValue }).state, bytes: text.length };
}

/** The records of a segment, without a torn last line. */
async function readSegment(path: string): Promise<{ records: JsonValue[]; bytes: number }> {
  const text = await readText(path);
  const lines = text.split("\n");
  // The rest after the last line feed is empty or a torn line.
  lines.pop();
  const values = lines.map((line, i) => {
    try {
      return parseMetrics(line);
    } catch (cause) {
      // After a power cut the end of a file may be of zeros.
      if (lines.slice(i).every((later) => isTorn(later))) return undefined;
      throw new RunError(`Cannot read the state of a run: line ${i + 1} of ${shownPath(path)} is damaged`, { cause });
    }
  });
  const [header, ...records] = values.filter((value) => value !== undefined);
  if (header === undefined) return { records: [], bytes: text.length };
  checkHeader(header, path);
  return { records, bytes: text.length };
}

function isTorn(line: string): boolean {
  try {
    parseMetrics(line);
    return false;
  } catch {
    return true;
  }
}

function checkHeader(header: unknown, path: string): void {
  const { format, version } = (header ?? {}) as Record<string, unknown>;
  if (format !== FORMAT || typeof version !== "number")
    throw new RunError(`Cannot read the state of a run: ${shownPath(path)} is no log of a run`);
  if (version > VERSION)
    throw new RunError(
      `Cannot read the state of a run: ${shownPath(path)} is of version ${version}, and this Shoal reads up to ${VERSION}`,
      {
        hint: "go on with the version of Shoal that wrote it, or a newer one",
      },
    );
}
