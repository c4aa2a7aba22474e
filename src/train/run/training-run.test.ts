/** Starts an attempt with datasets, in a group without processes, and decides whether to warn of a shortage of CPUs. */
import { beforeEach, expect, test, vi } from "vitest";
import type { Resources } from "../../core/index.ts";
import { readRunConfig } from "../../runs/run-config.ts";
import type { DatasetShards } from "../datasets.ts";
import type { NodeAgents } from "../group/node-agents.ts";
import { shortageOfData } from "../group/placement.ts";
import { type RunObserver, type TrainingParts, TrainingRun } from "./training-run.ts";
import type { WorkerGroup } from "../group/worker-group.ts";

const parts = {
  clusterResources: vi.fn<() => Promise<Resources>>(),
  availableResources: vi.fn<() => Promise<Resources>>(),
  meet: vi.fn<() => Promise<void>>(),
  nextEvent: vi.fn<() => Promise<{ type: "finished"; value: string }>>(),
  splitDatasets: vi.fn<() => Promise<DatasetShards>>(),
  closeShards: vi.fn<() => Promise<void>>().mockResolvedValue(),
};

const GROUP = {
  size: 1,
  places: [{ facts: { nodeId: "node" }, rank: 0 }],
  start: async (): Promise<void> => {},
  meet: parts.meet,
  begin: (): void => {},
  nextEvent: parts.nextEvent,
  end: async (): Promise<void> => {},
};
const AGENTS = { ready: async (): Promise<void> => {}, close: async (): Promise<void> => {} };
const TRAINING_PARTS: TrainingParts = {
  newGroup: () => GROUP as unknown as WorkerGroup,
  newAgents: () => AGENTS as unknown as NodeAgents,
  splitDatasets: parts.splitDatasets,
  shortageOfData: (ranks, scaling, { haveBegun }) => shortageOfData(ranks, scaling, { haveBegun, cluster: parts, givenBackMs: 1 }),
};

const shards: DatasetShards = { byRank: [], close: parts.closeShards };
beforeEach(() => {
  parts.splitDatasets.mockClear();
  parts.closeShards.mockClear();
  parts.splitDatasets.mockResolvedValue(shards);
  parts.meet.mockResolvedValue();
  parts.nextEvent.mockResolvedValue({ type: "finished", value: "done" });
  parts.clusterResources.mockResolvedValue({ CPU: 2 });
  parts.availableResources.mockReset().mockResolvedValue({ CPU: 1 });
});

async function runOf(signal = new AbortController().signal): Promise<{ run: TrainingRun; warnings: string[] }> {
  const { failureConfig } = await readRunConfig<never>({ storagePath: "/nowhere" }, "train");
  const warnings: string[] = [];
  const observer: Partial<RunObserver> = { started: () => {}, warn: (text) => void warnings.push(text) };
  const scaling = { min: 1, max: 1, resourcesPerWorker: { CPU: 1 } };
  const run = new TrainingRun(
    {
      name: "mine",
      group: { scaling, loop: { kind: "typescript" }, context: {} } as never,
      config: {},
      datasets: { datasets: { train: {} as never }, split: "all", equal: false, enableShardLocality: true },
      hasRankFolders: false,
      failureConfig,
      checkpoint: undefined,
      store: { all: [] } as never,
      observer: observer as RunObserver,
      signal,
    },
    TRAINING_PARTS,
  );
  return { run, warnings };
}

test("the ranks do not wait until a shortage of CPUs is known, and one that is known after their end is not told", async () => {
  const all = Promise.withResolvers<Resources>();
  parts.clusterResources.mockReturnValue(all.promise);
  parts.availableResources.mockResolvedValue({ CPU: 0 });
  const { run, warnings } = await runOf();
  expect((await run.run()).values).toEqual(["done"]);
  all.resolve({ CPU: 1 });
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([]);
  const other = await runOf();
  await other.run.run();
  expect(other.warnings).toEqual([expect.stringContaining("the ranks hold 1 of the cluster's 1 CPUs, and 0 are free")]);
});

test.each([
  ["others still hold is told while the ranks meet", { looksWhile: "meeting", freeLater: 0, warned: 1 }],
  ["others have given back since is not told", { looksWhile: "meeting", freeLater: 1, warned: 0 }],
  ["somebody holds is not told once the loops have begun, as tasks of this run may", { looksWhile: "running", freeLater: 0, warned: 0 }],
])("a CPU that at a second look %s", async (_, { looksWhile, freeLater, warned }) => {
  const ended = Promise.withResolvers<void>();
  parts.availableResources.mockResolvedValueOnce({ CPU: 0 }).mockResolvedValue({ CPU: freeLater });
  if (looksWhile === "meeting") parts.meet.mockReturnValue(ended.promise);
  else parts.nextEvent.mockReturnValue(ended.promise.then(() => ({ type: "finished", value: "done" })));
  const { run, warnings } = await runOf();
  const done = run.run();
  await vi.waitFor(() => expect(parts.availableResources).toHaveBeenCalledTimes(2));
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toHaveLength(warned);
  ended.resolve();
  await done;
});

test("datasets that are split when the run has been aborted are closed", async () => {
  const split = Promise.withResolvers<DatasetShards>();
  parts.splitDatasets.mockReturnValue(split.promise);
  const abort = new AbortController();
  const { run } = await runOf(abort.signal);
  const ended = run.run().catch((error: unknown) => error);
  await vi.waitFor(() => expect(parts.splitDatasets).toHaveBeenCalled());
  abort.abort("enough");
  expect(await ended).toBe("enough");
  expect(parts.closeShards).not.toHaveBeenCalled();
  split.resolve(shards);
  await vi.waitFor(() => expect(parts.closeShards).toHaveBeenCalledOnce());
});
