/**
 * Assigns ranks to processes: the processes of a node get consecutive ranks, in the order of their GPUs, and nodes keep the order of the placement group.
 *
 * Pure. Also computes the numbers that frameworks ask for: local rank, node rank, and the device indices of each rank.
 */
import type { RankFacts } from "../ranks/rank-protocol.ts";

export interface RankPlace {
  /** Index of the process in start order. */
  readonly index: number;
  readonly facts: RankFacts;
  readonly rank: number;
  readonly localRank: number;
  readonly localWorldSize: number;
  readonly nodeRank: number;
  /** GPUs of all ranks of the node, each once. Frameworks number the visible devices in this order. */
  readonly nodeGpuIds: readonly string[];
  /** The rank's own GPUs, as numbers in `nodeGpuIds`. */
  readonly deviceIndices: readonly number[];
}

export function rankOrder(processes: readonly RankFacts[]): RankPlace[] {
  const byNode = new Map<string, { index: number; facts: RankFacts }[]>();
  for (const [index, facts] of processes.entries()) {
    const ofNode = byNode.get(facts.nodeId) ?? [];
    ofNode.push({ index, facts });
    byNode.set(facts.nodeId, ofNode);
  }
  const places: RankPlace[] = [];
  for (const [nodeRank, members] of [...byNode.values()].entries()) {
    members.sort((a, b) => lowestGpu(a.facts) - lowestGpu(b.facts) || a.index - b.index);
    const nodeGpuIds = [...new Set(members.flatMap(({ facts }) => facts.gpuIds.map(String)))];
    for (const [localRank, { index, facts }] of members.entries()) {
      places.push({
        index,
        facts,
        rank: places.length,
        localRank,
        localWorldSize: members.length,
        nodeRank,
        nodeGpuIds,
        deviceIndices: facts.gpuIds.map((id) => nodeGpuIds.indexOf(String(id))),
      });
    }
  }
  return places;
}

/** Without GPUs, or with ids that are no numbers, the order of the placement group stays. */
function lowestGpu({ gpuIds }: RankFacts): number {
  const numbers = gpuIds.map(Number).filter(Number.isInteger);
  return numbers.length === 0 ? 0 : Math.min(...numbers);
}
