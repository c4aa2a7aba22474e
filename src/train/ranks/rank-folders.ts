/**
 * The working folders of an attempt's ranks: `rank-0` and so on in the run's folder.
 *
 * All attempts share these folders. A run in S3 has no such folder, so each node then has a temporary one, which is removed with the attempt.
 */
import { removeIfEmpty } from "../../core/internal.ts";
import { joinPath, localPath, schemeOf } from "../../storage/paths.ts";
import type { NodeAgents } from "../group/node-agents.ts";
import { GroupNotStarted, lostRank } from "../group/worker-group.ts";

interface RankFoldersRequest {
  readonly runPath: string;
  /** By rank. */
  readonly nodeIds: readonly string[];
  readonly agents: Pick<NodeAgents, "newRankFolder" | "removeFolder">;
}

/** Whether a name in the run's folder is that of a rank's folder. */
export function isRankFolder(name: string): boolean {
  return /^rank-\d+$/.test(name);
}

export class RankFolders {
  readonly #request: RankFoldersRequest;
  /** Temporary folders, by node. */
  readonly #ofNodes = new Map<string, string>();
  #opening: Promise<unknown> = Promise.resolve();
  #byRank: readonly string[] = [];

  constructor(request: RankFoldersRequest) {
    this.#request = request;
  }

  /** Empty until the folders are chosen. The ranks make them. */
  get byRank(): readonly string[] {
    return this.#byRank;
  }

  /** Chooses the folders. @throws GroupNotStarted where a node makes no temporary folder */
  async open(): Promise<void> {
    const { runPath, nodeIds } = this.#request;
    const isLocal = schemeOf(runPath) === "file";
    const made = isLocal ? [] : Array.from(new Set(nodeIds), (nodeId) => this.#make(nodeId));
    this.#opening = Promise.allSettled(made);
    await Promise.all(made);
    const within = (nodeId: string): string => (isLocal ? localPath(runPath) : (this.#ofNodes.get(nodeId) as string));
    this.#byRank = nodeIds.map((nodeId, rank) => joinPath(within(nodeId), `rank-${rank}`));
  }

  async #make(nodeId: string): Promise<void> {
    const { agents, nodeIds } = this.#request;
    try {
      this.#ofNodes.set(nodeId, await agents.newRankFolder(nodeId));
    } catch (error) {
      const failure = lostRank(nodeIds.indexOf(nodeId), error as Error);
      throw new GroupNotStarted([failure], failure.cause === "user");
    }
  }

  /** Removes temporary folders, and folders that the ranks left empty. */
  async close(): Promise<void> {
    await this.#opening;
    if (this.#ofNodes.size === 0) return this.#byRank.forEach(removeIfEmpty);
    await Promise.all(Array.from(this.#ofNodes, ([nodeId, folder]) => this.#request.agents.removeFolder(nodeId, folder)));
  }
}
