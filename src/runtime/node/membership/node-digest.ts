/**
 * The running work of this node, for a head that does not know it. From digests and its tables a head finds the unfinished work of its predecessor
 * (`runtime/head/tables/recovery.ts`).
 */
import type { ActorId, NodeId, ProcessId } from "../../base/ids.ts";
import type { DigestBundleHeader, NodeDigestHeader, WorkerFactsHeader } from "../../wire/cluster/cluster-messages.ts";
import type { AcceleratorIds, EnvironmentHeader } from "../../wire/messages.ts";

/** An actor that was given a worker. */
export interface PlacedActor {
  readonly actor: ActorId;
  readonly accelerators: AcceleratorIds | undefined;
}

interface NodeContents {
  readonly processes: ReadonlyMap<ProcessId, WorkerFactsHeader>;
  /** By their workers. */
  readonly actors: ReadonlyMap<ProcessId, PlacedActor>;
  readonly bundles: DigestBundleHeader[];
  readonly environments: EnvironmentHeader[];
}

export function nodeDigest(nodeId: NodeId, { processes, actors, bundles, environments }: NodeContents): NodeDigestHeader {
  const digest: NodeDigestHeader = { nodeId, heads: 0, processes: Array.from(processes.keys()), actors: [], bundles, environments };
  for (const [process, { actor: actorId, accelerators }] of actors) {
    const facts = processes.get(process);
    if (facts === undefined) continue;
    const { id, holderId, pid, address, remoteAddress } = facts;
    digest.actors.push({ actorId, worker: { id, holderId, pid, address, remoteAddress }, accelerators });
  }
  return digest;
}
