/**
 * The terminal that gets workers' lines, when several programs use the same nodes.
 */
import type { ChildProcess } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestCluster } from "shoal/testing";
import { expect, test } from "vitest";
import { runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { until, useFolder } from "./session.ts";

const ended = join(useFolder(), "ended");

/** The program ends when the test says so: the lines of workers are on their way when their calls have been answered. */
function programOf(name: string, address: string, nodeIds: readonly string[]): string {
  return `
import { existsSync } from "node:fs";
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
while (!existsSync(${JSON.stringify(ended)})) await new Promise((resolve) => setTimeout(resolve, 20));
await shutdown();
`;
}

test("lines of a program's workers come to that program, from all nodes, and to no other", { timeout: 60_000 }, async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 2 }, onLine: () => {} });
  await cluster.addNode({ numCpus: 2 });
  const nodeIds = cluster.nodes.map(({ nodeId }) => nodeId);
  const names = ["one", "two"];
  const said = new Map(names.map((name) => [name, ""]));
  const listen = (name: string) => (child: ChildProcess) => {
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: string) => said.set(name, `${said.get(name)}${chunk}`));
  };
  const runs = names.map(async (name) => {
    const file = join(REPOSITORY, "test", "integration", `.program-${process.pid}-${name}.ts`);
    writeFileSync(file, programOf(name, cluster.address, nodeIds));
    try {
      return (await runProgram([file], { onStart: listen(name) })).exitCode;
    } finally {
      rmSync(file);
    }
  });
  const expected = names.flatMap((name) =>
    nodeIds.flatMap((nodeId) => ["task", "actor"].map((what) => [name, `${what} of ${name} on ${nodeId}`])),
  );
  try {
    await until(() => expected.every(([name = "", line = ""]) => said.get(name)?.includes(line)), "all lines to come");
  } finally {
    writeFileSync(ended, "");
  }
  expect(await Promise.all(runs)).toEqual([0, 0]);
  expect(said.get("one")).not.toContain("of two");
  expect(said.get("two")).not.toContain("of one");
});
