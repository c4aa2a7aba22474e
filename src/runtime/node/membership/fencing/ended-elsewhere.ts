/**
 * Finds processes of other nodes that have ended without a notice to this node.
 *
 * A process's node reports its end to the head, and the head informs all nodes. A head that dies in between loses notices that some nodes have not received, and the
 * next head knows nothing of ended processes: their holds and leases would count for ever. So after each registration a node asks the other nodes which of the
 * processes it keeps records for have ended. The new head reports later ends. The daemon owns this.
 */
import { type NodeTag, nodeTagOf, type ProcessId } from "../../../base/ids.ts";
import { IDS_IN_MESSAGE_MAX } from "../../../objects/limits.ts";

interface EndedElsewhereOptions {
  readonly nodeTag: NodeTag;
  /** Processes of any node for which this node keeps records; duplicates are possible. */
  readonly known: () => readonly ProcessId[];
  /** Asks the daemon of another node which of its processes have ended. Rejects when that node is dead. */
  readonly ask: (node: NodeTag, processes: readonly ProcessId[]) => Promise<readonly ProcessId[]>;
  readonly onEnded: (process: ProcessId) => void;
}

export class EndedElsewhere {
  readonly #options: EndedElsewhereOptions;

  constructor(options: EndedElsewhereOptions) {
    this.#options = options;
  }

  ask(): void {
    const { nodeTag, known } = this.#options;
    const byNode = Map.groupBy(new Set(known()), nodeTagOf);
    byNode.delete(nodeTag);
    for (const [node, processes] of byNode) {
      for (let start = 0; start < processes.length; start += IDS_IN_MESSAGE_MAX)
        void this.#askNode(node, processes.slice(start, start + IDS_IN_MESSAGE_MAX));
    }
  }

  async #askNode(node: NodeTag, processes: readonly ProcessId[]): Promise<void> {
    const { ask, onEnded } = this.#options;
    const ended = await ask(node, processes).catch((): readonly ProcessId[] => []);
    // An answer about other processes does not count.
    const asked = new Set(processes);
    for (const process of ended) if (asked.delete(process)) onEnded(process);
  }
}
