/**
 * The checkpoints of a run: stores them in the run's folder and removes the surplus.
 *
 * Used by `training-run.ts`. Files of a rank are copied where they lie (`node-agents.ts`). A storage that fails is tried again for a while, as
 * the ranks would otherwise have to begin anew. Inside of Tune the folder is a trial's, and Tune decides after each report.
 */
import { messageOf } from "../../core/internal.ts";
import { KeptCheckpoints } from "../../runs/checkpoints/kept-checkpoints.ts";
import { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import {
  adoptCheckpoint,
  checkpointName,
  completeCheckpoint,
  discardCheckpoint,
  listCheckpoints,
  removeCheckpoint,
  removeUnfinishedCheckpoints,
} from "../../runs/checkpoints/stored-checkpoints.ts";
import type { Metrics } from "../../runs/metrics/metrics.ts";
import type { ResolvedRunConfig } from "../../runs/run-config.ts";
import { RunError } from "../../runs/errors.ts";
import { retryStorage } from "../../runs/folder/storage-retries.ts";
import { joinPath } from "../../storage/paths.ts";
import { STORAGE_RETRY_MS } from "../limits.ts";
import type { NodeAgents } from "../group/node-agents.ts";
import { isRankFolder } from "../ranks/rank-folders.ts";
import type { RankReport } from "../ranks/rank-protocol.ts";

interface StoreOptions {
  readonly folder: string;
  readonly checkpointConfig: ResolvedRunConfig["checkpointConfig"];
  readonly warn: (text: string) => void;
  readonly signal: AbortSignal;
}

/** A report of all ranks, the node of each rank, and the agents that copy files there. */
interface GroupReport {
  readonly reports: readonly RankReport[];
  readonly nodeIds: readonly string[];
  readonly agents: NodeAgents;
}

export class RunStore {
  readonly #options: StoreOptions;
  readonly #kept: KeptCheckpoints;
  #nextNumber = 0;
  /** Tail of the queue: reports are stored in sequence. */
  #work: Promise<unknown> = Promise.resolve();

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#kept = new KeptCheckpoints(options.checkpointConfig);
  }

  /** Registers the checkpoints that an earlier program left in the folder, and removes unfinished checkpoints. */
  async open(): Promise<void> {
    const { folder } = this.#options;
    await removeUnfinishedCheckpoints(folder);
    for (const { name, checkpoint, metrics } of await listCheckpoints(folder)) {
      this.#kept.register({ path: checkpoint.path, metrics });
      this.#countFrom(name);
    }
  }

  /** The newest; undefined where there is none. */
  get newest(): Checkpoint | undefined {
    const newest = this.#kept.newest;
    return newest === undefined ? undefined : Checkpoint.fromDirectory(newest.path);
  }

  /** Kept checkpoints, in the order of their reports. */
  get all(): { checkpoint: Checkpoint; metrics: Metrics }[] {
    return this.#kept.all.map(({ path, metrics }) => ({ checkpoint: Checkpoint.fromDirectory(path), metrics }));
  }

  /** Stores the checkpoint of a report, where it has one. @throws StorageError, RunError */
  record(report: GroupReport): Promise<Checkpoint | undefined> {
    const done = this.#work.then(() => this.#store(report));
    this.#work = done.catch(() => {});
    return done;
  }

  async #store({ reports, nodeIds, agents }: GroupReport): Promise<Checkpoint | undefined> {
    const [first] = reports as [RankReport];
    const withFiles = reports.flatMap(({ checkpoint, uploadMode }, rank) =>
      checkpoint === null ? [] : [{ checkpoint, uploadMode, rank }],
    );
    const [one] = withFiles;
    if (one === undefined) return undefined;
    if (one.uploadMode === "none") return await this.#adopt(one.checkpoint.path, first.metrics);
    const name =
      withFiles.find(({ checkpoint }) => checkpoint.directoryName !== null)?.checkpoint.directoryName ?? checkpointName(this.#nextNumber);
    if (isRankFolder(name))
      throw new RunError(`Cannot store a checkpoint: its name is that of a rank's working folder: received ${name}`, {
        hint: "Choose another checkpointDirName.",
      });
    this.#nextNumber += 1;
    this.#countFrom(name);
    const to = joinPath(this.#options.folder, name);
    const parts = withFiles.map(({ checkpoint, rank }) => ({
      nodeId: nodeIds[rank] ?? "",
      part: { from: checkpoint.path, to, rank, hasOthers: withFiles.length > 1 },
      isRemoved: checkpoint.deleteAfterUpload,
    }));
    const checkpoint = await this.#again(`store ${name}`, async () => {
      const copied = await Promise.all(parts.map(({ nodeId, part }) => agents.copyPart(nodeId, part)));
      return await completeCheckpoint({ to, parts: copied, metrics: first.metrics });
    }).catch(async (error: unknown) => {
      await discardCheckpoint(to).catch(() => {});
      throw error;
    });
    await this.#register(checkpoint, first.metrics);
    await Promise.all(parts.filter(({ isRemoved }) => isRemoved).map(({ nodeId, part }) => agents.removeFolder(nodeId, part.from)));
    return checkpoint;
  }

  /** Keeps a checkpoint where its rank has put it. In the run's folder it is one of the run's as any other; elsewhere a later program does not find it. */
  async #adopt(path: string, metrics: Metrics): Promise<Checkpoint> {
    const checkpoint = Checkpoint.fromDirectory(path);
    const cut = checkpoint.path.lastIndexOf("/");
    if (checkpoint.path.slice(0, cut) === this.#options.folder) {
      const name = checkpoint.path.slice(cut + 1);
      await this.#again(`keep ${name}`, () => adoptCheckpoint({ path: checkpoint.path, metrics }));
      this.#countFrom(name);
    }
    await this.#register(checkpoint, metrics);
    return checkpoint;
  }

  /** Numbers given later are higher than that of a name that has one. */
  #countFrom(name: string): void {
    const number = Number(name.slice(name.lastIndexOf("_") + 1));
    if (name === checkpointName(number)) this.#nextNumber = Math.max(this.#nextNumber, number + 1);
  }

  async #register(checkpoint: Checkpoint, metrics: Metrics): Promise<void> {
    for (const { path } of this.#kept.register({ path: checkpoint.path, metrics })) {
      // A checkpoint that cannot be removed must not fail the run.
      await removeCheckpoint(Checkpoint.fromDirectory(path)).catch((error: unknown) => {
        this.#options.warn(`a checkpoint could not be removed: ${messageOf(error)}`);
      });
    }
  }

  /** Tries until it works, while the failures are of the storage. */
  async #again<T>(what: string, work: () => Promise<T>): Promise<T> {
    const { signal, warn } = this.#options;
    return await retryStorage(work, { untilMs: performance.now() + STORAGE_RETRY_MS, signal }, ({ message }) =>
      warn(`cannot ${what}, trying again: ${message}`),
    );
  }
}
