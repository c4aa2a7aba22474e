/**
 * Answers questions to a cluster from its history folders, for readers that ask the head and the daemons.
 *
 * All nodes have gone. One node of each folder still answers for its files, as the nodes of a run share a folder of logs. Questions
 * that only a living cluster can answer are refused.
 */
import { ShoalError } from "../../runtime/base/errors.ts";
import type { NodeId } from "../../runtime/base/ids.ts";
import { historyFolder, lastNodeOf, logsBeside } from "../../runtime/os/history/segment-reader.ts";
import { listLogFiles, readLog } from "../../runtime/os/logs/log-files.ts";
import type { Reply } from "../../runtime/rpc/peer-connection.ts";
import { logListAsked, logReadAsked } from "../../runtime/wire/observing/log-messages.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";
import type { ReplyTo } from "../../runtime/wire/tables/replies.ts";
import { LIMIT_MAX } from "./limits.ts";
import type { StateReader } from "./state-reader.ts";

interface NodeOfHistory {
  readonly nodeId: string;
  readonly hostname: string;
  readonly address: string;
  readonly reason: string;
  readonly goneMs: number | undefined;
}

export class HistoryCluster {
  readonly #reader: StateReader;
  /** By the node that answers for it. */
  readonly #logs: ReadonlyMap<string, string>;

  /** @throws ShoalError for a folder without a history */
  constructor(folders: readonly string[], reader: StateReader) {
    this.#reader = reader;
    this.#logs = new Map(folders.map(historyFolder).map((folder) => [lastNodeOf(folder) ?? "", logsBeside(folder)]));
  }

  readonly ask = async <N extends number>(type: N, header: unknown): Promise<ReplyTo<N>> => (await this.request(type, header)).header;

  readonly request = async <N extends number>(type: N, header: unknown): Promise<Reply<ReplyTo<N>>> => {
    const { header: answer, body = new Uint8Array() } = await this.#answer(type, header);
    return { header: answer as ReplyTo<N>, body };
  };

  async #answer(type: number, header: unknown): Promise<{ header: unknown; body?: Uint8Array }> {
    switch (type) {
      case MESSAGE.NODES:
        return { header: (await this.#nodes()).map((node) => ({ ...node, alive: this.#logs.has(node.nodeId), draining: false })) };
      case MESSAGE.CLUSTER_STATUS:
        return { header: { startedMs: 0, nodes: [], waiting: [], gone: await this.#nodes() } };
      case MESSAGE.LOG_LIST: {
        if (!logListAsked(header)) break;
        const { node, glob } = header;
        const { files, matching } = await listLogFiles(this.#folderOf(node), glob);
        return { header: { files: files.map((file) => ({ ...file, isLive: false })), matching } };
      }
      case MESSAGE.LOG_READ: {
        if (!logReadAsked(header)) break;
        const { node, ...question } = header;
        const found = await readLog(this.#folderOf(node), question);
        if (found === undefined) throw gone(`there is no log ${JSON.stringify(question.name.slice(0, 200))}`);
        const { bytes, marks, ...answer } = found;
        const rows = marks.map(({ offset, timeMs, taskId, name }) => [offset, timeMs, taskId, name]);
        return { header: { ...answer, isLive: false, marks: rows }, body: bytes };
      }
    }
    throw gone("the cluster has ended");
  }

  async #nodes(): Promise<NodeOfHistory[]> {
    const { rows } = await this.#reader.list("nodes", { limit: LIMIT_MAX, detail: true });
    return rows.map((row) => ({
      nodeId: String(row["node_id"]) as NodeId,
      hostname: String(row["node_name"]),
      address: String(row["node_ip"]),
      reason: typeof row["state_message"] === "string" ? row["state_message"] : "The history ends here.",
      goneMs: typeof row["end_time_ms"] === "number" ? row["end_time_ms"] : undefined,
    }));
  }

  #folderOf(node: string): string {
    const folder = this.#logs.get(node);
    if (folder === undefined) throw gone(`there are no files of node ${node.slice(0, 100)}`);
    return folder;
  }
}

function gone(reason: string): ShoalError {
  return new ShoalError(`Cannot answer from a history: ${reason}.`, { reason });
}
