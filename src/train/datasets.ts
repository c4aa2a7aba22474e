/**
 * Splits a run's datasets for its ranks: each rank gets streaming parts with equal numbers of rows, its own node's blocks first.
 *
 * Each attempt splits anew, because the number of ranks may change, and the coordinators of a failed attempt wait for ended ranks.
 */
import { kill } from "../core/index.ts";
import { DataIterator, type Dataset } from "../data/index.ts";

export interface TrainDatasets {
  readonly datasets: Readonly<Record<string, Dataset>>;
  /** The others go to every rank whole. */
  readonly split: "all" | readonly string[];
  /** Whether ranks have the same number of rows. */
  readonly equal: boolean;
  /** Whether ranks get the blocks of their own nodes first. */
  readonly enableShardLocality: boolean;
}

export interface DatasetShards {
  /** By rank, and there by name. */
  readonly byRank: readonly Readonly<Record<string, DataIterator>>[];
  close(): Promise<void>;
}

/** @param nodeIds - the node of each rank */
export async function splitDatasets(
  { datasets, split, equal, enableShardLocality }: TrainDatasets,
  nodeIds: readonly string[],
): Promise<DatasetShards> {
  const byRank: Record<string, DataIterator>[] = nodeIds.map(() => ({}));
  const localityHints = enableShardLocality ? nodeIds : undefined;
  await Promise.all(
    Object.entries(datasets).map(async ([name, dataset]) => {
      const isSplit = split === "all" || split.includes(name);
      const parts = isSplit
        ? await named(dataset, name).streamingSplit(nodeIds.length, { equal, requireRows: equal, localityHints })
        : await Promise.all(byRank.map(async () => (await dataset.streamingSplit(1))[0] as DataIterator));
      for (const [rank, shards] of byRank.entries()) shards[name] = parts[rank] as DataIterator;
    }),
  );
  const all = new Set(byRank.flatMap((shards) => Object.values(shards).map((iterator) => DataIterator.factsOf(iterator).coordinator)));
  return { byRank, close: async () => void (await Promise.allSettled([...all].map((coordinator) => kill(coordinator)))) };
}

/** The dataset under the name that the trainer has for it, unless it has its own. */
function named(dataset: Dataset, name: string): Dataset {
  return dataset.name === undefined && name.trim() !== "" && !/\p{Cc}/u.test(name) ? dataset.withSettings({}).setName(name) : dataset;
}
