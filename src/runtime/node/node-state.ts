/**
 * The state of a node that its daemon can list: workers and programs, those that live and the last that ended.
 *
 * Told of each process as it joins and ends; keeps a bounded number of ended ones with the cause. Filters and pages are applied here, so
 * that only the rows of a page travel. Nothing here decides anything.
 */
import type { ProcessId } from "../base/ids.ts";
import { isNetworkAddress, parseNetworkAddress } from "../os/network/network-address.ts";
import { CallRecords } from "../observe/call-records.ts";
import { HistoryRecorder } from "../observe/history-recorder.ts";
import { type KeyedRow, type SelectedRows, selectRows } from "../observe/select-rows.ts";
import type { HeadPeer } from "../rpc/head-service.ts";
import type { Message } from "../rpc/peer-connection.ts";
import type { Handlers } from "../wire/tables/message-table.ts";
import { MESSAGE, type WorkerExitedHeader } from "../wire/messages.ts";
import type { MessagesOfProcess } from "../wire/tables/messages-to-daemon.ts";
import type { NodeResource, StateQuery } from "../wire/observing/state-messages.ts";
import type { NodeDaemonOptions } from "./daemon-options.ts";
import type { NodePeers, Peer } from "./node-peers.ts";
import { OpenCalls } from "./open-calls.ts";

/** Ended processes that are remembered: a row each, of 1 to 5 KB. */
const ENDED_MAX = 1000;

const POLL_MIN_MS = 20;
const POLL_MAX_MS = 1000;

interface ObservedProcess {
  readonly peer: Pick<Peer, "id" | "kind" | "pid" | "jobId">;
  readonly startedMs: number;
  endedMs?: number;
  exit?: WorkerExitedHeader;
  intended?: boolean;
}

/** Time between two writes of the history. */
const HISTORY_EVERY_MS = 500;

type StateOptions = Pick<NodeDaemonOptions, "nodeId" | "address" | "hostname" | "labels" | "resources" | "observe" | "history">;

export class NodeState {
  readonly openCalls: OpenCalls;
  readonly #records: CallRecords;
  readonly #observe: NodeDaemonOptions["observe"];
  #pollTimer: NodeJS.Timeout | undefined;
  #pollMs = POLL_MAX_MS;
  readonly #nodeId: string;
  readonly #host: string;
  readonly #node: KeyedRow["row"];
  readonly #startedMs: number = Date.now();
  readonly #history: HistoryRecorder | undefined;
  readonly #historyTimer: NodeJS.Timeout | undefined;
  readonly #live = new Map<ProcessId, ObservedProcess>();
  /** The oldest first. */
  readonly #ended = new Map<ProcessId, ObservedProcess>();

  constructor(options: StateOptions, local: NodePeers["local"]) {
    const { nodeId, address, observe, history } = options;
    this.openCalls = new OpenCalls(local);
    const recorder = history === undefined ? undefined : new HistoryRecorder(history);
    this.#history = recorder;
    this.#records = new CallRecords(nodeId, recorder === undefined ? undefined : (...kept) => recorder.call(...kept));
    if (recorder !== undefined) this.#historyTimer = setInterval(() => recorder.flush(), HISTORY_EVERY_MS).unref();
    this.#observe = observe;
    this.#nodeId = nodeId;
    this.#host = isNetworkAddress(address) ? parseNetworkAddress(address).host : "127.0.0.1";
    this.#node = {
      node_id: nodeId,
      node_ip: this.#host,
      node_name: options.hostname,
      resources_total: options.resources,
      labels: options.labels,
    };
    this.#recordNode("ALIVE");
  }

  get handlers(): Handlers<
    Pick<MessagesOfProcess, typeof MESSAGE.NODE_STATE | typeof MESSAGE.CALL_FAILED>,
    [peer: HeadPeer, message: Message]
  > {
    return {
      [MESSAGE.NODE_STATE]: ({ resource, query, begun = [] }, { connection }, { callId }) => {
        if (resource === "pending_tasks" || resource === "pending_counts") {
          const asOfMs = Date.now();
          void this.openCalls
            .select({ resource, query, begun })
            .then((selected) => connection.reply(callId, { ...answerOf(selected), numDropped: 0, asOfMs, warnings: selected.warnings }));
          return;
        }
        const isOfCalls = resource === "tasks" || resource === "task_counts";
        connection.reply(callId, {
          ...answerOf(this.#select(resource, query)),
          numDropped: resource === "tasks" || resource === "task_spans" ? this.#records.dropped : 0,
          asOfMs: Date.now(),
          warnings: [],
          ...(isOfCalls ? { begun: this.#records.runningIds() } : {}),
        });
      },
      [MESSAGE.CALL_FAILED]: (failure) => {
        this.#records.failed(failure);
        this.#history?.failure(failure);
      },
    };
  }

  joined({ id, kind, pid, jobId }: Peer): void {
    // A command that asks has no job, and is nothing that people look for.
    if (kind === "worker" || (kind === "driver" && jobId !== "")) {
      const process = { peer: { id, kind, pid, jobId }, startedMs: Date.now() };
      this.#live.set(id, process);
      this.#recordProcess(process);
    }
    const source = kind === "worker" ? this.#observe?.(id) : undefined;
    if (source === undefined) return;
    this.#records.joined({ id, pid, jobId }, source);
    if (this.#pollTimer === undefined) this.#pollLater();
  }

  close(): void {
    clearTimeout(this.#pollTimer);
    this.#pollTimer = undefined;
    if (this.#history !== undefined) {
      for (const id of this.#live.keys()) this.#records.ended(id, { cause: "The node was stopped.", nowMs: Date.now(), isIntended: false });
      this.#recordNode("DEAD");
    }
    this.#records.close();
  }

  /** Resolves when all that was observed is in files. */
  async historyWritten(): Promise<void> {
    clearInterval(this.#historyTimer);
    await this.#history?.close();
  }

  #recordNode(state: "ALIVE" | "DEAD"): void {
    const endedMs = state === "DEAD" ? Date.now() : null;
    const row = { ...this.#node, state, state_message: state === "DEAD" ? "It was stopped." : null, end_time_ms: endedMs };
    this.#history?.row("nodes", this.#nodeId, { timeMs: this.#startedMs, isLive: state === "ALIVE", make: () => row });
  }

  #recordProcess(process: ObservedProcess): void {
    const { peer, startedMs, endedMs } = process;
    const isLive = endedMs === undefined;
    this.#history?.row("workers", peer.id, { timeMs: startedMs, isLive, make: () => this.#workerRow(process, true) });
    if (peer.kind === "driver") this.#history?.row("jobs", peer.jobId, { timeMs: startedMs, isLive, make: () => this.#jobRow(process) });
  }

  /** Reads rings the more often, the more is written. */
  #pollLater(): void {
    this.#pollTimer = setTimeout(() => {
      this.#pollMs = this.#records.poll() ? Math.max(POLL_MIN_MS, this.#pollMs / 4) : Math.min(POLL_MAX_MS, this.#pollMs * 2);
      this.#pollLater();
    }, this.#pollMs).unref();
  }

  /** Calls that run, and all that have ended here. */
  get callTotals(): { running: number; finished: number; failed: number } {
    const totals = { running: 0, finished: 0, failed: 0 };
    for (const { counts } of this.#records.summary()) {
      totals.running += counts["RUNNING"] ?? 0;
      totals.finished += counts["FINISHED"] ?? 0;
      totals.failed += counts["FAILED"] ?? 0;
    }
    return totals;
  }

  /** Records of calls that were not kept. */
  get dropped(): number {
    return this.#records.dropped;
  }

  driverGone(id: ProcessId): void {
    this.#end(id);
  }

  workerEnded(exit: WorkerExitedHeader, intended: boolean): void {
    this.#end(exit.workerId, { exit, intended });
    this.#records.ended(exit.workerId, { cause: exitDetail(exit), nowMs: Date.now(), isIntended: intended });
  }

  #end(id: ProcessId, cause: Pick<ObservedProcess, "exit" | "intended"> = {}): void {
    const process = this.#live.get(id);
    if (process === undefined) return;
    this.#live.delete(id);
    this.#ended.set(id, Object.assign(process, cause, { endedMs: Date.now() }));
    this.#recordProcess(process);
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= ENDED_MAX) break;
      this.#ended.delete(oldest);
    }
  }

  #select(resource: Exclude<NodeResource, "pending_tasks" | "pending_counts">, query: StateQuery): SelectedRows {
    if (resource === "tasks") return this.#records.select(query);
    if (resource === "task_spans") return this.#records.spans(query);
    if (resource !== "task_counts") return selectRows(this.#rows(resource, query), query);
    return selectRows(
      this.#records.summary().map(({ name, type, counts }) => ({ key: [0, `${type} ${name}`], row: { name, type, state_counts: counts } })),
      query,
    );
  }

  *#rows(resource: NodeResource, { detail }: StateQuery): Generator<KeyedRow> {
    for (const processes of [this.#live, this.#ended]) {
      for (const process of processes.values()) {
        const { peer, startedMs } = process;
        if (resource === "workers") yield { key: [startedMs, peer.id], row: this.#workerRow(process, detail) };
        else if (peer.kind === "driver") yield { key: [startedMs, peer.jobId], row: this.#jobRow(process) };
      }
    }
  }

  #workerRow({ peer, startedMs, endedMs, exit, intended }: ObservedProcess, detail: boolean): KeyedRow["row"] {
    const row = {
      worker_id: peer.id,
      is_alive: endedMs === undefined,
      worker_type: peer.kind === "driver" ? "DRIVER" : "WORKER",
      exit_type: exit === undefined ? null : exitType(exit, intended === true),
      node_id: this.#nodeId,
      ip: this.#host,
      pid: peer.pid,
    };
    if (!detail) return row;
    const more = { exit_detail: exit === undefined ? null : exitDetail(exit), death_cause: exit === undefined ? null : deathCause(exit) };
    return { ...row, ...more, start_time_ms: startedMs, end_time_ms: endedMs ?? null };
  }

  #jobRow({ peer, startedMs, endedMs }: ObservedProcess): KeyedRow["row"] {
    return {
      job_id: peer.jobId,
      submission_id: null,
      entrypoint: null,
      type: "DRIVER",
      status: endedMs === undefined ? "RUNNING" : "SUCCEEDED",
      message: null,
      error_type: null,
      driver_info: { id: peer.jobId, node_ip_address: this.#host, pid: String(peer.pid) },
      start_time: startedMs,
      end_time: endedMs ?? null,
      driver_node_id: this.#nodeId,
    };
  }
}

function answerOf({ rows, total, numFiltered }: SelectedRows): object {
  return { rows: rows.map(({ row }) => row), keys: rows.map(({ key }) => key), total, numFiltered };
}

function exitType({ outOfMemory, exitCode, reason }: WorkerExitedHeader, intended: boolean): string {
  if (outOfMemory !== undefined) return "NODE_OUT_OF_MEMORY";
  if (intended) return "INTENDED_USER_EXIT";
  if (reason !== undefined || exitCode === 0) return "INTENDED_SYSTEM_EXIT";
  return exitCode === undefined ? "SYSTEM_ERROR" : "USER_ERROR";
}

function exitDetail({ reason, signal, exitCode }: WorkerExitedHeader): string {
  return reason ?? (signal === undefined ? `It ended with exit code ${exitCode ?? "unknown"}.` : `It was ended by ${signal}.`);
}

/** Lines of output that show the cause of a death. */
const LAST_LINES = 20;

function deathCause({ reason, signal, exitCode, lastOutput }: WorkerExitedHeader): Record<string, unknown> {
  return {
    reason: reason ?? null,
    signal: signal ?? null,
    exit_code: exitCode ?? null,
    last_lines: lastOutput.slice(-LAST_LINES),
  };
}
