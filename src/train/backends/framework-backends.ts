/**
 * The backends of the frameworks that Shoal knows: the options of each framework's rendezvous.
 *
 * The ranks do the work, by `set_up` of `python/shoal/train/_session.py`. Every rank keeps a port bound until its framework takes it over, so two runs cannot get
 * the same port. Ranks that torchrun has started meet at its store and need no port.
 */
import type { Backend, BackendGroup, BackendRank } from "./backend.ts";
import { TrainError } from "../errors.ts";

/** The option `torchConfig`. */
export interface TorchConfig {
  /** Default: `"nccl"` with GPUs, else `"gloo"`. */
  backend?: "gloo" | "nccl" | "mpi" | "ucc" | undefined;
  /** How the processes find each other. Default: `"env"`. */
  initMethod?: "env" | "tcp" | undefined;
  /** How long an operation between ranks may take, in milliseconds. Default: 1,800,000. */
  timeoutMs?: number | undefined;
}

/** Without a framework: the ranks have their environment, and nothing else happens. */
export const NO_FRAMEWORK: Backend = {};

/** Makes the backend of torch. @param isLaunched - torchrun started the ranks, and has opened their store */
export function torchBackend(
  { backend, initMethod, timeoutMs }: TorchConfig & { timeoutMs: number },
  useGpu: boolean,
  isLaunched: boolean,
): Backend {
  return {
    onTrainingStart: async (group) => {
      if (useGpu && backend === undefined) refuseSharedGpus(group.ranks);
      const options = { backend: backend ?? null, initMethod: initMethod ?? "env", timeoutMs, useGpu, isLaunched };
      await group.setUp("torch", options);
    },
  };
}

/** Refuses ranks that share a GPU. @throws TrainError, as NCCL would fail at the first operation with an unclear message */
function refuseSharedGpus(ranks: readonly BackendRank[]): void {
  const holders = new Map<string, number>();
  for (const { rank, nodeId, gpuIds } of ranks)
    for (const id of gpuIds) {
      const holder = holders.get(`${nodeId} ${id}`);
      if (holder !== undefined)
        throw new TrainError(
          `Cannot start the process group: ranks ${holder} and ${rank} share GPU ${id}, and nccl, the default with useGpu, needs a GPU for each: say torchConfig: { backend: "gloo" }, or give each rank a GPU of its own`,
        );
      holders.set(`${nodeId} ${id}`, rank);
    }
}

export function tensorflowBackend(): Backend {
  return {
    onTrainingStart: async (group) => {
      await group.setUp("tensorflow", { workers: group.ranks.map((rank) => addressOf(group, rank)) });
    },
  };
}

export function jaxBackend(useGpu: boolean): Backend {
  return {
    onTrainingStart: async (group) => {
      await group.setUp("jax", { coordinatorAddress: addressOf(group, group.ranks[0] as BackendRank), useGpu, useTpu: false });
    },
  };
}

/** Makes a backend whose rank 0 opens the tracker to which the others connect. */
export function trackedBackend(framework: "xgboost" | "horovod", timeoutMs: number): Backend {
  return {
    onTrainingStart: async (group) => {
      const slots = group.ranks.map(({ hostname, rank, localRank, localWorldSize, nodeRank }) => ({
        hostname,
        rank,
        localRank,
        localSize: localWorldSize,
        crossRank: nodeRank,
        crossSize: group.ranks.filter((other) => other.localRank === localRank).length,
      }));
      const options = { slots, address: addressOf(group, group.ranks[0] as BackendRank), timeoutMs };
      const [first] = await group.setUp(framework, { ...options, first: null }, 0);
      await Promise.all(group.ranks.slice(1).map(({ rank }) => group.setUp(framework, { ...options, first }, rank)));
    },
  };
}

export function lightgbmBackend(): Backend {
  return {
    onTrainingStart: async (group) => {
      await group.setUp("lightgbm", { machines: group.ranks.map((rank) => addressOf(group, rank)).join(",") });
    },
  };
}

/** Under which the other ranks reach one. */
function addressOf({ ranks }: BackendGroup, { ip, port, nodeId }: BackendRank): string {
  const isOneNode = ranks.every((other) => other.nodeId === nodeId);
  return `${isOneNode ? "127.0.0.1" : ip}:${port}`;
}
