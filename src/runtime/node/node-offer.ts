/**
 * The offer of this machine as a node: resources, labels, and ids of accelerators, from the options of `init` and from the machine.
 */
import type { NodeId } from "../base/ids.ts";
import { RESOURCE_UNIT } from "../base/resources.ts";
import { findGpus } from "../os/machine/accelerators.ts";
import { cpuCount, usableMemoryBytes } from "../os/machine/machine.ts";
import { ACCELERATOR_TYPE_LABEL, NODE_ID_LABEL } from "../scheduling/label-selector.ts";
import type { UnitShares } from "../scheduling/resource-pool.ts";

interface NodeOffer {
  resources: Record<string, number>;
  labels: Record<string, string>;
  accelerators: UnitShares | undefined;
}

/** The user's options of the node; the machine supplies undefined ones. */
interface OfferOptions {
  readonly numCpus: number | undefined;
  readonly numGpus: number | undefined;
  /** Custom resources alone. */
  readonly resources: Readonly<Record<string, number>>;
  readonly labels: Readonly<Record<string, string>>;
}

export function offerOf(options: OfferOptions, nodeId: NodeId): NodeOffer {
  const found = findGpus();
  const numGpus = options.numGpus ?? found.ids.length;
  const type = numGpus > 0 ? found.type : undefined;
  const resources: Record<string, number> = {
    CPU: options.numCpus ?? cpuCount(),
    memory: usableMemoryBytes(),
    ...(numGpus > 0 ? { GPU: numGpus } : {}),
    ...(type === undefined ? {} : { [`accelerator_type:${type}`]: 1 }),
    ...options.resources,
  };
  const labels = {
    ...(type === undefined ? {} : { [ACCELERATOR_TYPE_LABEL]: type }),
    ...options.labels,
    [NODE_ID_LABEL]: nodeId,
  };
  // Declared GPUs beyond the found ones are numbered, as in a test on a machine without any.
  const isFound = numGpus > 0 && Number.isInteger(numGpus) && numGpus <= found.ids.length;
  const accelerators = isFound ? { GPU: found.ids.slice(0, numGpus).map((id) => [id, RESOURCE_UNIT] as const) } : undefined;
  return { resources, labels, accelerators };
}
