/**
 * Finds out which processes of other nodes have ended without this node being told.
 *
 * The node of a process tells the head of its end, and the head tells all nodes. A head that dies in between takes with it what some nodes have not heard yet, and the next head knows nothing of a process
 * that is not there any more: its holds and leases would count for ever. So whenever a node has registered with a head, it asks the nodes of all for whom it keeps something which of them have ended. What ends
 * later is told by that head. Owned by the daemon.
 */
import { type NodeTag, nodeTagOf, type ProcessId } from "../../base/ids.ts";
import { IDS_IN_MESSAGE_MAX } from "../../objects/limits.ts";

interface EndedElsewhereOptions {
  readonly nodeTag: NodeTag;
  /** Those for whom something is kept here, of whichever node; one may come more than once. */
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
    // Of others it has nothing to say.
    const asked = new Set(processes);
    for (const process of ended) if (asked.delete(process)) onEnded(process);
  }
}
