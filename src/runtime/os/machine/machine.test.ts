/** Tests which flags a worker gets, from its driver's flags and its machine. */
import { totalmem } from "node:os";
import { describe, expect, test, vi } from "vitest";
import { usableMemoryBytes, workerExecArgv, workerHeapFlags } from "./machine.ts";

const GIGABYTE = 1024 ** 3;
const heap = (gigabytes: number, cpus: number, more: { execArgv?: string[]; nodeOptions?: string } = {}): string[] =>
  workerHeapFlags({ memoryBytes: gigabytes * GIGABYTE, cpus, execArgv: [], nodeOptions: undefined, ...more });

describe("the heap limit of a worker", () => {
  test("is its share of the machine, where that is more than what V8 takes by itself", () => {
    expect(heap(32, 2)).toEqual(["--max-old-space-size=16384"]);
    expect(heap(64, 2.5)).toEqual(["--max-old-space-size=26214"]);
  });

  test("is 4 GB where the share is less, and no more than three quarters of a small machine", () => {
    expect(heap(64, 64)).toEqual(["--max-old-space-size=4096"]);
    expect(heap(16, 0)).toEqual(["--max-old-space-size=12288"]);
    expect(heap(2, 8)).toEqual(["--max-old-space-size=1536"]);
  });

  test("is that of the user where there is one", () => {
    expect(heap(32, 2, { nodeOptions: "--no-warnings --max-old-space-size=100" })).toEqual([]);
    expect(heap(32, 2, { nodeOptions: "--no-warnings" })).toHaveLength(1);
    const execArgv = workerExecArgv(["--max_old_space_size=200", "--inspect"]);
    expect(execArgv).toContain("--max_old_space_size=200");
    expect(heap(32, 2, { execArgv })).toEqual([]);
  });
});

test("memory is that of the control group, where it is less than the machine's", () => {
  const limit = vi.spyOn(process, "constrainedMemory");
  const all = totalmem();
  for (const [constrained, usable] of [
    [3 * GIGABYTE, Math.min(3 * GIGABYTE, all)],
    [2 ** 63, all],
    [0, all],
  ] as const) {
    limit.mockReturnValue(constrained);
    expect(usableMemoryBytes()).toBe(usable);
  }
  limit.mockRestore();
});

test("a worker loads modules as its driver does, and has none of its other flags", () => {
  expect(workerExecArgv(["--import", "tsx", "--inspect=0", "--conditions", "node", "--expose-gc"])).toEqual([
    "--import",
    "tsx",
    "--disable-warning=ExperimentalWarning",
  ]);
});
