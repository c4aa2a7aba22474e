/** Starts an attempt with datasets, in a group without processes. */
import { beforeEach, expect, test, vi } from "vitest";
import { readRunConfig } from "../runs/run-config.ts";
import type { DatasetShards } from "./datasets.ts";
import { type RunObserver, TrainingRun } from "./training-run.ts";

const parts = vi.hoisted(() => ({
  shortageOfData: vi.fn<() => Promise<string | undefined>>(),
  splitDatasets: vi.fn<() => Promise<DatasetShards>>(),
  closeShards: vi.fn<() => Promise<void>>().mockResolvedValue(),
}));
vi.mock("./placement.ts", async (original) => ({ ...(await original<object>()), shortageOfData: parts.shortageOfData }));
vi.mock("./datasets.ts", () => ({ splitDatasets: parts.splitDatasets }));
vi.mock("./node-agents.ts", () => ({
  NodeAgents: class {
    async ready(): Promise<void> {}
    async close(): Promise<void> {}
  },
}));
vi.mock("./worker-group.ts", async (original) => ({
  ...(await original<object>()),
  WorkerGroup: class {
    readonly size = 1;
    readonly places = [{ facts: { nodeId: "node" }, rank: 0 }];
    async start(): Promise<void> {}
    async meet(): Promise<void> {}
    begin(): void {}
    nextEvent = async () => ({ type: "finished", value: "done" });
    async end(): Promise<void> {}
  },
}));

const shards: DatasetShards = { byRank: [], close: parts.closeShards };
beforeEach(() => {
  parts.splitDatasets.mockClear();
  parts.closeShards.mockClear();
  parts.splitDatasets.mockResolvedValue(shards);
  parts.shortageOfData.mockResolvedValue(undefined);
});

async function runOf(signal = new AbortController().signal): Promise<{ run: TrainingRun; warnings: string[] }> {
  const { failureConfig } = await readRunConfig<never>({ storagePath: "/nowhere" }, "train");
  const warnings: string[] = [];
  const observer: Partial<RunObserver> = { started: () => {}, warn: (text) => void warnings.push(text) };
  const scaling = { min: 1, max: 1, resourcesPerWorker: { CPU: 1 } };
  const run = new TrainingRun({
    name: "mine",
    group: { scaling, loop: { kind: "typescript" }, context: {} } as never,
    config: {},
    datasets: { datasets: { train: {} as never }, split: "all", equal: false, enableShardLocality: true },
    failureConfig,
    checkpoint: undefined,
    store: { all: [] } as never,
    observer: observer as RunObserver,
    signal,
  });
  return { run, warnings };
}

test("the ranks do not wait until a shortage of CPUs is known, and one that is known after their end is not told", async () => {
  const shortage = Promise.withResolvers<string>();
  parts.shortageOfData.mockReturnValue(shortage.promise);
  const { run, warnings } = await runOf();
  expect((await run.run()).values).toEqual(["done"]);
  shortage.resolve("too late");
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([]);
  parts.shortageOfData.mockResolvedValue("no CPU is free");
  const other = await runOf();
  await other.run.run();
  expect(other.warnings).toEqual(["no CPU is free"]);
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
