/**
 * Finds and reads the logs of a living cluster: by file, or by the actor, task or process whose output is wanted.
 *
 * Daemons list and read the files of their own folders; nothing here becomes a path. Output outlives its worker and its node. A dead
 * node's file is searched on all living nodes, as the next node of the run has the same folder.
 */
import { messageOf } from "../../runtime/base/texts/describe.ts";
import { checkGlob, isLogName, workerOfLog } from "../../runtime/os/logs/log-names.ts";
import type { LogMark } from "../../runtime/os/logs/log-files.ts";
import { isNetworkAddress, parseNetworkAddress } from "../../runtime/os/network/network-address.ts";
import type { Reply } from "../../runtime/rpc/peer-connection.ts";
import type { LogFileHeader, LogReadHeader } from "../../runtime/wire/observing/log-messages.ts";
import { MESSAGE, type NodeHeader } from "../../runtime/wire/messages.ts";
import type { ReplyTo } from "../../runtime/wire/tables/replies.ts";
import { LOG_LINES_DEFAULT, LOG_LOOK_EVERY_MS, NODES_ASKED_AT_ONCE, STATE_TIMEOUT_DEFAULT_MS } from "./limits.ts";
import type { StateReader, StateResource } from "./state-reader.ts";

/** Asks the node of this process, and gives the bytes of the answer, too. */
export type AskWithBytes = <N extends number>(type: N, header: unknown, options: { timeoutMs: number }) => Promise<Reply<ReplyTo<N>>>;

/** A log file of a node. */
export interface LogRow extends LogFileHeader {
  readonly nodeId: string;
}

export interface LogListQuery {
  /** Only of this node. Default: of all. */
  readonly nodeId?: string | undefined;
  readonly nodeIp?: string | undefined;
  /** With `*` and `?`. Default: `*`. */
  readonly glob?: string | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface LogList {
  /** The newest of each node first. */
  readonly rows: LogRow[];
  /** Nodes that did not answer, and files that are not named. */
  readonly warnings: string[];
}

/** Names the wanted output: one of the ids, a process, or a file. */
export interface LogSource {
  readonly actorId?: string | undefined;
  readonly taskId?: string | undefined;
  readonly workerId?: string | undefined;
  readonly pid?: number | undefined;
  readonly filename?: string | undefined;
  readonly nodeId?: string | undefined;
  readonly nodeIp?: string | undefined;
  /** Selects one of a worker's two streams. Default: `out`. */
  readonly stream?: "out" | "err" | undefined;
  readonly timeoutMs?: number | undefined;
}

/** Where the wanted output is, or why there is none. */
export type FoundLog =
  | { readonly kind: "found"; readonly nodeId: string; readonly name: string; readonly taskId?: string }
  | { readonly kind: "none"; readonly reason: string; readonly hint: string };

export interface LogReadOptions {
  /** Lines from the end; -1: all. Default: 1,000. */
  readonly tail?: number | undefined;
  /** Go on as more is written, until the writer ends. */
  readonly follow?: boolean | undefined;
  /** Time between two looks. Default: 250. */
  readonly intervalMs?: number | undefined;
  readonly withMarks?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  /** Ends a `follow`. */
  readonly signal?: AbortSignal | undefined;
}

export interface LogChunk {
  readonly bytes: Uint8Array;
  /** Output before this chunk was removed before it could be read. */
  readonly isGap: boolean;
  readonly marks: LogMark[];
}

/** A node's answer to a read. */
export interface LogStep extends LogChunk {
  readonly next: string;
  readonly isEnd: boolean;
  readonly isLive: boolean;
}

const HINT = "A file is made with the first line. `shoal logs` lists all.";

type Located = Extract<FoundLog, { kind: "found" }>;

export class LogReader {
  readonly #ask: AskWithBytes;
  readonly #state: StateReader;

  constructor(ask: AskWithBytes, state: StateReader) {
    this.#ask = ask;
    this.#state = state;
  }

  /** @throws RangeError for an unknown node or a pattern that no file can have */
  async list({ nodeId, nodeIp, glob = "*", timeoutMs = STATE_TIMEOUT_DEFAULT_MS }: LogListQuery = {}): Promise<LogList> {
    checkGlob(glob);
    const nodes = await this.#nodes({ nodeId, nodeIp }, timeoutMs);
    const rows: LogRow[] = [];
    const warnings: string[] = [];
    for (let first = 0; first < nodes.length; first += NODES_ASKED_AT_ONCE) {
      const asked = nodes.slice(first, first + NODES_ASKED_AT_ONCE);
      const settled = await Promise.allSettled(asked.map((node) => this.#ask(MESSAGE.LOG_LIST, { node, glob }, { timeoutMs })));
      for (const [at, result] of settled.entries()) {
        const node = asked[at] as string;
        if (result.status === "rejected") {
          warnings.push(`Node ${node} did not answer: ${messageOf(result.reason)}.`);
          continue;
        }
        const { files, matching } = result.value.header;
        rows.push(...files.map((file) => ({ ...file, nodeId: node })));
        if (matching > files.length) warnings.push(`Node ${node} has ${matching - files.length} more files that match.`);
      }
    }
    return { rows, warnings };
  }

  /** @throws RangeError when not one thing is named, or a node is unknown */
  async find(source: LogSource): Promise<FoundLog> {
    const { actorId, taskId, workerId, pid, filename } = source;
    const given = Object.entries({ actorId, taskId, workerId, pid, filename }).filter(([, value]) => value !== undefined);
    if (given.length !== 1)
      throw new RangeError(
        `Cannot read a log: name one of actorId, taskId, workerId, pid and filename: received ${given.map(([name]) => name).join(", ") || "none"}`,
      );
    if (filename !== undefined && !isLogName(filename)) return none(`no log has the name ${JSON.stringify(filename.slice(0, 200))}`, HINT);
    if (filename !== undefined) return this.#findFile(source, filename, `log file ${filename}`);
    const { stream = "out" } = source;
    if (pid !== undefined)
      return this.#findFile(source, `worker-*-${pid}.${stream}`, `output (.${stream}) of a worker with the pid ${pid}`);
    if (workerId !== undefined) return this.#findWorker(source, workerId, undefined);
    if (actorId !== undefined) return this.#findOf(source, "actors", actorId);
    return this.#findOf(source, "tasks", taskId as string);
  }

  async *read(found: Located, options: LogReadOptions = {}): AsyncGenerator<LogChunk, void, undefined> {
    const { follow = false, signal, intervalMs = LOG_LOOK_EVERY_MS } = options;
    let from: string | undefined;
    for (;;) {
      if (signal?.aborted === true) return;
      // Asked before the output, so that the last lines are not missed.
      const goesOn = follow && (await this.#goesOn(found));
      const step = await this.step(found, { ...options, from });
      if (step.bytes.length > 0 || step.isGap) yield step;
      from = step.next;
      if (!step.isEnd) continue;
      if (!goesOn || !step.isLive) return;
      await pause(intervalMs, signal);
    }
  }

  /** Reads what one answer holds, from the end of the one before. */
  async step({ nodeId, name, taskId }: Located, options: LogReadOptions & { from?: string | undefined }): Promise<LogStep> {
    const { from, tail = LOG_LINES_DEFAULT, withMarks, timeoutMs = STATE_TIMEOUT_DEFAULT_MS } = options;
    const asked: LogReadHeader = {
      node: nodeId,
      name,
      ...(from === undefined ? {} : { from }),
      ...(from !== undefined || tail < 0 ? {} : { tail }),
      ...(taskId === undefined ? {} : { taskId }),
      ...(withMarks === undefined ? {} : { withMarks }),
    };
    const { header, body } = await this.#ask(MESSAGE.LOG_READ, asked, { timeoutMs });
    const marks = header.marks.map(([offset, timeMs, writer, called]) => ({ offset, timeMs, taskId: writer, name: called }));
    return { ...header, marks, bytes: body };
  }

  /** The output of a task ends with the task, not with its worker. */
  async #goesOn({ taskId }: Located): Promise<boolean> {
    if (taskId === undefined) return true;
    return (await this.#state.get("tasks", taskId))?.["state"] === "RUNNING";
  }

  async #findOf(source: LogSource, resource: Extract<StateResource, "actors" | "tasks">, id: string): Promise<FoundLog> {
    const what = resource === "actors" ? "actor" : "task";
    const row = await this.#state.get(resource, id);
    if (row === undefined) return none(`there is no ${what} ${id.slice(0, 100)}`, `See \`shoal list ${resource}\`.`);
    const { worker_id: worker, node_id: node } = row;
    if (typeof worker !== "string") return none(`the ${what} ${id} has no process`, `Its state is ${String(row["state"])}.`);
    const found = await this.#findWorker({ ...source, nodeId: typeof node === "string" ? node : undefined }, worker, `the ${what} ${id}`);
    return found.kind === "found" && resource === "tasks" ? { ...found, taskId: id } : found;
  }

  #findWorker(source: LogSource, worker: string, whose = `the worker ${worker.slice(0, 100)}`): Promise<FoundLog> {
    const { stream = "out" } = source;
    const what = `output (.${stream}) of ${whose}`;
    if (!/^\w+$/.test(worker)) return Promise.resolve(none(`there is no ${what}`, "See `shoal list workers`."));
    return this.#findFile(source, `worker-${worker}-*.${stream}`, what);
  }

  async #findFile({ nodeId, nodeIp, timeoutMs = STATE_TIMEOUT_DEFAULT_MS }: LogSource, glob: string, what: string): Promise<FoundLog> {
    const nodes = await this.#ask(MESSAGE.NODES, undefined, { timeoutMs });
    // The successor of a dead node has the same files.
    const isDead = nodeId !== undefined && nodes.header.some((node) => node.nodeId === nodeId && !node.alive);
    const { rows, warnings } = await this.list({ nodeId: isDead ? undefined : nodeId, nodeIp, glob, timeoutMs });
    const [row, ...others] = rows.filter(({ name }) => workerOfLog(name) === undefined || !/\.\d+$/.test(name) || name === glob);
    const hint = warnings.length > 0 ? warnings.join(" ") : HINT;
    if (row === undefined) return none(`there is no ${what}`, hint);
    const other = others.find(({ nodeId: node }) => node !== row.nodeId);
    if (other !== undefined) return none(`${what} is on the nodes ${row.nodeId} and ${other.nodeId}`, "Name one of them.");
    return { kind: "found", nodeId: row.nodeId, name: row.name };
  }

  async #nodes({ nodeId, nodeIp }: Pick<LogListQuery, "nodeId" | "nodeIp">, timeoutMs: number): Promise<string[]> {
    const { header } = await this.#ask(MESSAGE.NODES, undefined, { timeoutMs });
    const wanted = header.filter(
      (node) => (nodeId === undefined || node.nodeId === nodeId) && (nodeIp === undefined || ipOf(node) === nodeIp),
    );
    if (wanted.length === 0 && (nodeId !== undefined || nodeIp !== undefined))
      throw new RangeError(`Cannot list logs: there is no node ${(nodeId ?? nodeIp ?? "").slice(0, 100)}. See \`shoal list nodes\`.`);
    const alive = wanted.filter(({ alive: isAlive }) => isAlive);
    if (alive.length === 0) throw new RangeError(`Cannot list logs: the node ${(nodeId ?? nodeIp ?? "").slice(0, 100)} is dead.`);
    return alive.map((node) => node.nodeId);
  }
}

function none(reason: string, hint: string): FoundLog {
  return { kind: "none", reason, hint };
}

function ipOf({ address }: NodeHeader): string {
  return isNetworkAddress(address) ? parseNetworkAddress(address).host : "127.0.0.1";
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}
