/**
 * Whose terminal the lines of workers go to, when several programs use the same nodes.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestCluster } from "shoal/testing";
import { expect, test } from "vitest";
import { runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";

function programOf(name: string, address: string, nodeIds: readonly string[]): string {
  return `
import { get, init, remote, shutdown } from "shoal";
await init({ address: ${JSON.stringify(address)} });
const say = remote((text: string) => console.log(text));
class Speaker {
  say(text: string): void {
    console.log(text);
  }
}
for (const nodeId of ${JSON.stringify(nodeIds)}) {
  const schedulingStrategy = { nodeId, soft: false };
  await say.options({ schedulingStrategy }).remote("task of ${name} on " + nodeId);
  await remote(Speaker).options({ schedulingStrategy }).remote().say.remote("actor of ${name} on " + nodeId);
}
await new Promise((resolve) => setTimeout(resolve, 1000));
await shutdown();
`;
}

test("lines of a program's workers come to that program, from all nodes, and to no other", { timeout: 60_000 }, async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 2 }, onLine: () => {} });
  await cluster.addNode({ numCpus: 2 });
  const nodeIds = cluster.nodes.map(({ nodeId }) => nodeId);
  const outputs = await Promise.all(
    ["one", "two"].map(async (name) => {
      const file = join(REPOSITORY, "test", "integration", `.program-${process.pid}-${name}.ts`);
      writeFileSync(file, programOf(name, cluster.address, nodeIds));
      try {
        const { stdout, stderr } = await runProgram([file], {});
        return stdout + stderr;
      } finally {
        rmSync(file);
      }
    }),
  );
  for (const [index, name] of ["one", "two"].entries()) {
    for (const nodeId of nodeIds) {
      expect(outputs[index]).toContain(`task of ${name} on ${nodeId}`);
      expect(outputs[index]).toContain(`actor of ${name} on ${nodeId}`);
    }
    expect(outputs[index]).not.toContain(name === "one" ? "of two" : "of one");
  }
});
