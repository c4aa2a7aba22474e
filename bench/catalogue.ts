/**
 * Every figure, in the order of the table. `main.ts` lists and selects from it; a figure that is not here is not run.
 * A figure that asks a thing of the runtime that is not there yet joins with that feature.
 */
import type { Figure } from "./figure.ts";

const NAMES = [
  "start-up",
  "whole-program",
  "idle-processes",
  "idle-memory",
  "installed-size",
  "tasks-sync",
  "tasks-async",
  "tasks-multi-client",
  "stream-items",
  "actor-sync",
  "actor-async",
  "actor-n-to-n",
  "actor-n-to-n-ref",
  "async-actor-sync",
  "async-actor-async",
  "graph-sync",
  "graph-sync-cost",
  "graph-pipelined",
  "graph-chain",
  "graph-chain-cost",
  "graph-chain-pipelined",
  "graph-fan-out",
  "graph-chain-100kb",
  "graph-chain-1mb",
  "pool-map",
  "queue-put-get",
  "get-small",
  "put-small",
  "put-large-zeros",
  "put-large-touched",
  "get-large-copied",
  "get-large-time",
  "spill-and-read",
  "get-10k-refs",
  "wait-1k-refs",
  "placement-groups",
  "queued-tasks",
  "python-tasks-sync",
  "python-tasks-async",
  "python-actor-sync",
  "python-actor-async",
  "python-large-argument",
  "python-start",
  "cluster-actor-sync",
  "cluster-actor-async",
  "cluster-actor-create",
  "cluster-actor-lookup",
  "cluster-transfer",
  "data-small",
  "data-csv-to-parquet",
  "data-batches",
  "data-groups-1k",
  "data-groups-1m",
  "data-sort",
  "data-shuffle",
  "data-join",
  "data-images",
  "data-memory",
  "train-start",
  "train-torch-first",
  "train-torch-start",
  "train-report",
  "train-recovery",
  "train-step-cost",
  "train-ingest",
  "tune-trials",
  "tune-trial-processes",
  "tune-many-trials",
  "tune-trial-memory",
  "serve-hello",
  "serve-json",
  "serve-composition",
  "serve-grpc",
  "serve-python",
  "serve-sse",
  "serve-handle",
  "serve-start",
  "serve-memory",
] as const;

export async function loadFigures(): Promise<Figure[]> {
  const modules = NAMES.map((name) => import(`./figures/${name}.ts`) as Promise<{ figure: Figure }>);
  return (await Promise.all(modules)).map(({ figure }) => figure);
}

/** @throws RangeError that lists the names, when one of those asked for is not a figure's. */
export function selectFigures(figures: readonly Figure[], names: readonly string[]): Figure[] {
  for (const name of names) {
    if (figures.some((figure) => figure.name === name)) continue;
    const known = figures.map((figure) => figure.name).join(", ");
    throw new RangeError(`Cannot select figures: received "${name}"; the names are ${known}`);
  }
  return figures.filter((figure) => names.includes(figure.name));
}
