/** `shoal up`, `shoal down`: nodes come for waiting work and go when idle, and a second cluster file changes the floors. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "./session.ts";
import { useShoal } from "./shoal-program.ts";

const { folder, run: shoal, program, runFiles, pidOf, processes } = useShoal();

function clusterFile(changes: { types?: string; idleMinutes?: number; more?: string } = {}): string {
  const file = join(folder, "cluster.yaml");
  const { types = "  telescope: { resources: { CPU: 1, telescope: 1 }, max_workers: 2 }", idleMinutes = 0.01, more = "" } = changes;
  writeFileSync(
    file,
    `cluster_name: sky
max_workers: 3
idle_timeout_minutes: ${idleMinutes}
provider: { type: local-processes }
head_node_type: head
available_node_types:
  head: { resources: { CPU: 1 } }
${types}
${more}`,
  );
  return file;
}

interface Status {
  nodes: { nodeId: string; state: string; labels: Record<string, string>; total: Record<string, number> }[];
  gone: { nodeId: string; reason: string }[];
}

async function status(): Promise<Status> {
  return JSON.parse((await shoal("status", "--json")).stdout) as Status;
}

async function up(file: string): Promise<void> {
  const started = await shoal("up", file, "--port", "0", "--no-dashboard", "--json");
  expect([started.stderr, started.exitCode]).toEqual(["", 0]);
}

test("a task that no node can run gets a node, and the idle node goes", async () => {
  const file = clusterFile();
  await up(file);
  expect((await status()).nodes.map(({ total }) => total["CPU"])).toEqual([1]);
  const labels = await program(`
import { init, nodes, remote, shutdown } from "shoal";
await init({ address: "auto" });
const node = await remote(() => process.ppid).options({ resources: { telescope: 1 } }).remote();
const found = (await nodes()).filter(({ alive }) => alive).map(({ labels }) => labels["shoal.io/node-type"] ?? "none");
await shutdown();
console.log(JSON.stringify([typeof node, ...found.sort()]));
`);
  expect(labels).toEqual(["number", "none", "telescope"]);
  await until(async () => (await status()).gone.length === 1, "the idle node to go");
  expect((await status()).gone[0]?.reason).toBe("it was drained");
  const ended = await shoal("down", file);
  expect(ended.stdout).toMatch(/^Ended the cluster sky at 127\.0\.0\.1:\d+ and its nodes\.\n$/);
  expect([runFiles(), processes()]).toEqual([[], []]);
});

test("a cluster file with a mistake starts nothing", async () => {
  const file = clusterFile({ types: "  telescope: { resources: { CPU: 1 }, max_worker: 2 }" });
  const refused = await shoal("up", file, "--port", "0");
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toContain(
    `Cannot read ${file}: line 8: available_node_types.telescope.max_worker: there is no such key: the nearest is max_workers`,
  );
  expect([runFiles(), processes()]).toEqual([[], []]);
});

test("an autoscaler that is killed is started again, and its nodes with it; a second file changes the floors", async () => {
  const floor = "  worker: { resources: { CPU: 1 }, min_workers: 1, max_workers: 2 }";
  await up(clusterFile({ types: floor }));
  const workers = async (): Promise<string[]> =>
    (await status()).nodes.flatMap(({ nodeId, labels }) => (labels["shoal.io/node-type"] === "worker" ? [nodeId] : []));
  await until(async () => (await workers()).length === 1, "the floor to be met");
  const [first] = await workers();
  process.kill(pidOf("the autoscaler"), "SIGKILL");
  await until(async () => (await workers()).some((nodeId) => nodeId !== first), "the next autoscaler to launch a node");
  const changed = await shoal("up", clusterFile({ types: floor.replace("min_workers: 1", "min_workers: 2") }));
  expect([changed.stderr, changed.exitCode]).toEqual(["", 0]);
  await until(async () => (await workers()).length === 2, "the second file to be used");
  expect((await shoal("down", join(folder, "cluster.yaml"))).exitCode).toBe(0);
});

test("a request holds nodes, and status and why say what becomes of work", async () => {
  await up(clusterFile({ types: "  worker: { resources: { CPU: 1 }, max_workers: 2 }" }));
  const seen = (await program(`
import { init, remote, requestResources, shutdown, why } from "shoal";
await init({ address: "auto" });
await requestResources({ numCpus: 3 });
const ref = remote(() => 1).options({ resources: { moon: 1 } }).remote();
ref.catch(() => {});
let reason = "";
const giveUpAt = Date.now() + 60_000;
while (!reason.includes("the autoscaler: ") && Date.now() < giveUpAt) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  reason = (await why(ref)).reason;
}
await shutdown();
console.log(JSON.stringify(reason));
`)) as string;
  expect(seen).toMatch(/; the autoscaler: no node type has CPU: 1, moon: 1$/);
  await until(async () => (await status()).nodes.length === 3, "the request to be met");
  expect((await shoal("status")).stdout).toMatch(/^Launched nodes\n {2}worker {2}2 of 2$/m);
  await program(`
import { init, requestResources, shutdown } from "shoal";
await init({ address: "auto" });
await requestResources({ bundles: [] });
await shutdown();
console.log("null");
`);
  await until(async () => (await status()).nodes.length === 1, "the nodes to go once nobody asks for them");
});
