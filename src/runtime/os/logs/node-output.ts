/**
 * The output of a node's workers in files: one file for each worker and stream that has printed, and the removal of old ones.
 *
 * Owns the writers of living workers. Output of dead workers is removed first where there is too much, the oldest before the others. The
 * folder outlives the node: the next node of the same run lists its predecessor's files.
 */
import { lstat, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { INDEX_SUFFIX, indexOf, type OutputSource } from "./log-index.ts";
import {
  ENDED_WORKERS_MAX,
  OUTPUT_KEPT_MS,
  OUTPUT_OF_NODE_BYTES_MAX,
  OUTPUT_OF_NODE_FILES_MAX,
  SWEEP_EVERY_MS,
  UNWRITTEN_OF_NODE_BYTES_MAX,
} from "./limits.ts";
import { type LogAnswer, type LogFile, type LogQuestion, listLogFiles, readLog } from "./log-files.ts";
import { outputName, type OutputStream, workerOfLog } from "./log-names.ts";
import { OutputLog } from "./output-log.ts";

/** A line that a worker has printed. */
export interface PrintedLine extends OutputSource {
  readonly workerId: string;
  readonly pid: number;
  readonly stream: OutputStream;
  readonly text: string;
}

interface NodeOutputOptions {
  readonly folder: string;
  /** Told at most once a minute. */
  readonly onFailure: (text: string) => void;
  readonly bytesMax?: number;
  readonly filesMax?: number;
  readonly nowMs?: () => number;
}

export class NodeOutput {
  readonly #options: Required<NodeOutputOptions>;
  /** By the names of their files. */
  readonly #logs = new Map<string, OutputLog>();
  readonly #sweepTimer: NodeJS.Timeout;
  /** The last workers that have ended. What their children print after them is written, too. */
  readonly #ended = new Set<string>();
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(options: NodeOutputOptions) {
    this.#options = { bytesMax: OUTPUT_OF_NODE_BYTES_MAX, filesMax: OUTPUT_OF_NODE_FILES_MAX, nowMs: () => Date.now(), ...options };
    this.#sweepTimer = setInterval(() => void this.sweep(), SWEEP_EVERY_MS).unref();
    void mkdir(options.folder, { recursive: true, mode: 0o700 }).catch(() => {});
    void this.sweep();
  }

  write({ workerId, pid, stream, text, name, taskId }: PrintedLine): void {
    const file = outputName(workerId, pid, stream);
    let log = this.#logs.get(file);
    if (log === undefined) {
      log = new OutputLog(join(this.#options.folder, file), {
        mayWait: (bytes) => this.#waitingBytes() + bytes <= UNWRITTEN_OF_NODE_BYTES_MAX,
        onFailure: (reason) => this.#failed(file, reason),
      });
      this.#logs.set(file, log);
    }
    log.write(text, { name, taskId });
    if (this.#ended.has(workerId)) void this.ended(workerId);
  }

  /** No more output comes from this worker. */
  async ended(workerId: string): Promise<void> {
    this.#ended.add(workerId);
    for (const oldest of this.#ended) {
      if (this.#ended.size <= ENDED_WORKERS_MAX) break;
      this.#ended.delete(oldest);
    }
    const ended = Array.from(this.#logs).filter(([file]) => workerOfLog(file)?.workerId === workerId);
    await Promise.all(
      ended.map(async ([file, log]) => {
        await log.close();
        if (this.#logs.get(file) === log) this.#logs.delete(file);
      }),
    );
  }

  async list(glob: string): Promise<{ files: (LogFile & { isLive: boolean })[]; matching: number }> {
    await this.#flushed();
    const { files, matching } = await listLogFiles(this.#options.folder, glob);
    return { files: files.map((file) => ({ ...file, isLive: this.#isLive(file.name) })), matching };
  }

  /** Returns undefined for a file that is not there. */
  async read(question: LogQuestion): Promise<(LogAnswer & { isLive: boolean }) | undefined> {
    // Before the look at the file: a writer that ends in between has written all.
    const isLive = this.#isLive(question.name);
    await this.#logs.get(question.name)?.flush();
    const answer = await readLog(this.#options.folder, question);
    return answer === undefined ? undefined : { ...answer, isLive };
  }

  /** Removes old output, and the oldest where there is too much. */
  async sweep(): Promise<void> {
    const { folder, bytesMax, filesMax, nowMs } = this.#options;
    const found = await this.#outputFiles();
    const isLive = (name: string): boolean => this.#logs.has(name.replace(/\.\d+$/, "")) && !this.#logs.has(name);
    // A living worker's current file stays. Its older files are removed last.
    const dead = found.filter(({ name }) => !this.#logs.has(name) && !isLive(name));
    const older = found.filter(({ name }) => isLive(name));
    let bytes = found.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    let count = found.length;
    for (const { name, sizeBytes, modifiedMs } of [...dead, ...older]) {
      if (bytes <= bytesMax && count <= filesMax && nowMs() - modifiedMs <= OUTPUT_KEPT_MS) continue;
      bytes -= sizeBytes;
      count -= 1;
      await Promise.allSettled([name, indexOf(name)].map((path) => rm(join(folder, path), { force: true })));
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#sweepTimer);
    await Promise.all(Array.from(this.#logs.values(), (log) => log.close()));
    this.#logs.clear();
  }

  /** Logs of the node and its head grow as long as this node lives. */
  #isLive(name: string): boolean {
    return this.#logs.has(name) || (workerOfLog(name) === undefined && name.endsWith(".log"));
  }

  async #flushed(): Promise<void> {
    await Promise.all(Array.from(this.#logs.values(), (log) => log.flush()));
  }

  #waitingBytes(): number {
    let sum = 0;
    for (const log of this.#logs.values()) sum += log.waitingBytes;
    return sum;
  }

  /** The oldest first. */
  async #outputFiles(): Promise<LogFile[]> {
    const { folder } = this.#options;
    const names = await readdir(folder).catch(() => []);
    const found: LogFile[] = [];
    for (const name of names) {
      if (name.endsWith(INDEX_SUFFIX) || workerOfLog(name) === undefined) continue;
      const [facts, index] = await Promise.all([name, indexOf(name)].map((path) => lstat(join(folder, path)).catch(() => undefined)));
      if (facts !== undefined) found.push({ name, sizeBytes: facts.size + (index?.size ?? 0), modifiedMs: facts.mtimeMs });
    }
    return found.sort((a, b) => a.modifiedMs - b.modifiedMs);
  }

  #failed(file: string, reason: string): void {
    const nowMs = performance.now();
    if (nowMs - this.#toldMs < SWEEP_EVERY_MS) return;
    this.#toldMs = nowMs;
    const { folder, onFailure } = this.#options;
    onFailure(`Output of workers is not written to ${join(folder, file)}: ${reason}. The workers go on; the lines are missing in the log.`);
  }
}
