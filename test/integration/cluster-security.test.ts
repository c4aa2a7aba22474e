/**
 * A cluster whose processes speak TLS with each other, and what attacks do to it while it runs: each ends its own connection, and the cluster works afterwards.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { get, init, put, ready, remote, shutdown } from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

const LINES: string[] = [];

class Counter {
  #count = 0;
  increment(): number {
    this.#count += 1;
    return this.#count;
  }
  make(): { ref: PromiseLike<string> } {
    return { ref: put("made elsewhere") };
  }
  sum(bytes: Uint8Array): number {
    let sum = 0;
    for (const byte of bytes) sum += byte;
    return sum;
  }
  large(size: number): Uint8Array {
    return new Uint8Array(size).fill(7);
  }
}

let cluster: TestCluster;
let program: string;
let second: TestNode;
const at = (node: TestNode): { schedulingStrategy: { nodeId: string; soft: boolean } } => ({
  schedulingStrategy: { nodeId: node.nodeId, soft: false },
});

beforeAll(async () => {
  program = mkdtempSync(join(tmpdir(), "shoal-program-"));
  cluster = await TestCluster.start({ head: { numCpus: 1 }, tls: true, onLine: (line) => void LINES.push(line) });
  second = await cluster.addNode({ numCpus: 2 });
});
afterAll(async () => {
  await cluster.shutdown();
  rmSync(program, { recursive: true });
  if (LINES.length > 0) throw new Error(`the processes of the cluster printed:\n${LINES.join("\n")}`);
});
beforeEach(async () => {
  // A folder of its own: the repository would be packed for the other nodes.
  await init({ address: cluster.address, runtimeEnv: { workingDir: program } });
});
afterEach(shutdown);

describe("with TLS between all processes", () => {
  test("tasks, actors, refs and large objects go between nodes", async () => {
    const counter = remote(Counter).options(at(second)).remote();
    await ready(counter);
    expect(await Promise.all([1, 2, 3].map(() => counter.increment.remote()))).toEqual([1, 2, 3]);
    const { ref } = await counter.make.remote();
    expect(await ref).toBe("made elsewhere");
    const bytes = new Uint8Array(3_000_000).fill(2);
    expect(await counter.sum.remote(put(bytes))).toBe(6_000_000);
    expect((await counter.large.remote(5_000_000)).length).toBe(5_000_000);
    expect(await get(Array.from({ length: 20 }, (_, index) => remote((x: number) => x + 1).remote(index)))).toHaveLength(20);
  });
});
