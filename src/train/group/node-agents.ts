/**
 * Agents of the controller on the nodes of the ranks: they copy checkpoints on the node that wrote them, and report that a node is about to be drained.
 *
 * This program's own node needs no agent. Each other node runs an actor that reserves no CPU, started with the ranks, because a draining node accepts no new actors. When a node dies
 * without a notice its ranks end, and the controller handles that as any other failure.
 */
import { type ActorHandle, getRuntimeContext, kill, type PreemptionInfo, ready, remote } from "../../core/index.ts";
import { followPreemption, newProgramFolder } from "../../core/internal.ts";
import { type CheckpointPart, persistCheckpoint } from "../../runs/checkpoints/stored-checkpoints.ts";
import { removeFolder } from "../../storage/places.ts";
import { AGENT_START_MS } from "../limits.ts";

/** A rank's files, and where they go. Plain data, as it may travel to the rank's node. */
interface PartRequest {
  readonly from: string;
  readonly to: string;
  readonly rank: number;
  readonly hasOthers: boolean;
}

export class NodeAgent {
  async copyPart(part: PartRequest): Promise<CheckpointPart> {
    return await persistCheckpoint(part);
  }

  async removeFolder(folder: string): Promise<void> {
    await removeFolder(folder);
  }

  newRankFolder(): string {
    return newProgramFolder("shoal-rank-");
  }

  /** Yields each notice that the node is to be drained: a later drain has another deadline. */
  async *preemptions(): AsyncGenerator<PreemptionInfo> {
    let unfollow = (): void => {};
    yield* new ReadableStream<PreemptionInfo>({
      start: (notices) => void (unfollow = followPreemption((notice) => notices.enqueue(notice))),
      cancel: () => unfollow(),
    });
  }
}

/** The agents of an attempt. */
export class NodeAgents {
  readonly #agents = new Map<string, ActorHandle<NodeAgent>>();
  readonly #own: string;
  #unfollow = (): void => {};

  /** @param tell - is called with each notice of a node that is to go away */
  constructor(nodeIds: Iterable<string>, tell: (nodeId: string, notice: PreemptionInfo) => void) {
    this.#own = getRuntimeContext().nodeId;
    for (const nodeId of new Set(nodeIds)) {
      if (nodeId === this.#own) this.#unfollow = followPreemption((notice) => tell(nodeId, notice));
      else {
        const agent = remote(NodeAgent, { numCpus: 0, maxConcurrency: CALLS_MAX, schedulingStrategy: { nodeId } }).remote();
        this.#agents.set(nodeId, agent);
        void followAgent(agent, (notice) => tell(nodeId, notice));
      }
    }
  }

  /** Resolves when all agents run: a node that is drained before would start none. One that does not start holds nobody up for long. */
  async ready(): Promise<void> {
    await Promise.allSettled([...this.#agents.values()].map((agent) => ready(agent, { timeoutMs: AGENT_START_MS })));
  }

  /** Copies a rank's files to the staging place of a checkpoint. */
  async copyPart(nodeId: string, part: PartRequest): Promise<CheckpointPart> {
    return await (this.#at(nodeId)?.copyPart.remote(part) ?? persistCheckpoint(part));
  }

  /** Makes a temporary folder for the ranks of a node. The next session on the machine removes it after a kill. */
  async newRankFolder(nodeId: string): Promise<string> {
    return await (this.#at(nodeId)?.newRankFolder.remote() ?? newProgramFolder("shoal-rank-"));
  }

  /** Removes a folder that a rank has handed over. One that stays is no reason to fail: it was a temporary one. */
  async removeFolder(nodeId: string, folder: string): Promise<void> {
    try {
      await (this.#at(nodeId)?.removeFolder.remote(folder) ?? removeFolder(folder));
    } catch {
      // The node has gone, or another process has removed the agent.
    }
  }

  async close(): Promise<void> {
    this.#unfollow();
    await Promise.allSettled([...this.#agents.values()].map((agent) => kill(agent)));
  }

  /** Undefined for this node, and in local mode. */
  #at(nodeId: string): ActorHandle<NodeAgent> | undefined {
    return nodeId === this.#own ? undefined : this.#agents.get(nodeId);
  }
}

/** Copies of several ranks, and the stream of notices, run at once. */
const CALLS_MAX = 64;

async function followAgent(agent: ActorHandle<NodeAgent>, tell: (notice: PreemptionInfo) => void): Promise<void> {
  try {
    for await (const notice of agent.preemptions.remote()) tell(notice);
  } catch {
    // The agent has ended, with its node or with the attempt.
  }
}
