/** Entry points with resources: they wait for a node that has them, run there alone, see their GPUs, and give all back. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { JobClient } from "shoal/jobs";
import { until } from "./session.ts";
import { useShoal } from "./shoal-program.ts";

const { folder, run, startHead, join: joinCluster, program } = useShoal({}, { endsAfterAll: true });

let client: JobClient;
let headNode: string;
let otherNode: string;

async function ended(id: string): Promise<Awaited<ReturnType<JobClient["getJobInfo"]>>> {
  await until(async () => !["PENDING", "RUNNING"].includes(await client.getJobStatus(id)), `the job ${id} to end`);
  return await client.getJobInfo(id);
}

/** States of the cluster's placement groups: the reservations are among them. */
async function groups(): Promise<string[]> {
  return (await program(`
import { init, placementGroupTable, shutdown } from "shoal";
await init({ address: "auto" });
const found = (await placementGroupTable()).map(({ state }) => state);
await shutdown();
console.log(JSON.stringify(found));
`)) as string[];
}

beforeAll(async () => {
  const head = await startHead("--dashboard-port", "0");
  headNode = head.nodeId;
  const token = (await run("get-auth-token")).stdout.trim();
  client = new JobClient({ address: head.dashboardUrl, token });
  const joined = await joinCluster(head, "--num-cpus", "2", "--num-gpus", "2", "--resources", '{"telescope": 1}', "--labels", "zone=b");
  otherNode = joined.nodeId;
}, 60_000);

test("an entry point runs where its resources are, sees its GPUs alone, and its log is read from there", async () => {
  const id = await client.submitJob({ entrypoint: "echo gpus $CUDA_VISIBLE_DEVICES", entrypointNumGpus: 1, entrypointNumCpus: 0.5 });
  expect(await ended(id)).toMatchObject({ status: "SUCCEEDED", driverNodeId: otherNode });
  expect(await client.getJobLogs(id)).toMatch(/^gpus [01]\n$/);
  const labelled = await client.submitJob({ entrypoint: "echo here", entrypointNumCpus: 1, entrypointLabelSelector: { zone: "!b" } });
  expect(await ended(labelled)).toMatchObject({ status: "SUCCEEDED", driverNodeId: headNode });
});

test("a second job waits for the resources of the first, says so, and begins at its end", async () => {
  const resources = { telescope: 1 };
  const first = await client.submitJob({ entrypoint: "sleep 300", entrypointResources: resources });
  await until(async () => (await client.getJobStatus(first)) === "RUNNING", "the first job to run");
  const second = await client.submitJob({ entrypoint: "echo second", entrypointResources: resources });
  const waiting = await client.submitJob({ entrypoint: "echo never", entrypointResources: resources });
  expect(await client.getJobInfo(second)).toMatchObject({
    status: "PENDING",
    driverNodeId: undefined,
    message: expect.stringContaining("it waits for its resources"),
  });
  expect(await client.getJobLogs(second)).toBe("");
  expect((await groups()).toSorted()).toEqual(expect.arrayContaining(["created", "pending", "pending"]));
  await client.stopJob(waiting);
  expect((await client.getJobInfo(waiting)).status).toBe("STOPPED");
  await client.stopJob(first);
  expect(await ended(second)).toMatchObject({ status: "SUCCEEDED", driverNodeId: otherNode });
  await until(async () => (await groups()).every((state) => state === "removed"), "all resources to be given back");
});

test("a job with a working directory and resources runs where its package is", async () => {
  const directory = join(folder, "work");
  mkdirSync(directory);
  writeFileSync(join(directory, "words.txt"), "of the package\n");
  const id = await client.submitJob({ entrypoint: "cat words.txt", entrypointNumCpus: 1, runtimeEnv: { workingDir: directory } });
  expect(await ended(id)).toMatchObject({ status: "SUCCEEDED", driverNodeId: headNode });
  expect(await client.getJobLogs(id)).toBe("of the package\n");
});

test("the command takes Ray's options, and refuses what is no number", async () => {
  const submitted = await run(
    "job",
    "submit",
    "--entrypoint-num-cpus",
    "1",
    "--entrypoint-resources",
    '{"telescope": 1}',
    "--",
    "echo done",
  );
  expect([submitted.exitCode, submitted.stdout]).toEqual([0, expect.stringMatching(/^Submitted job shoal_\w+\.\ndone\n$/)]);
  const refused = await run("job", "submit", "--entrypoint-num-cpus", "many", "--", "true");
  expect([refused.exitCode, refused.stderr]).toEqual([
    2,
    expect.stringContaining("--entrypoint-num-cpus takes a number of 0 or more: received many"),
  ]);
  const unknown = await run("job", "submit", "--entrypoint-resources", '{"CPU": 1}', "--", "true");
  expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining("CPU is an option of its own")]);
});

test("a node that is drained leaves after its jobs", async () => {
  const go = join(folder, "go");
  const entrypoint = `while [ ! -e ${go} ]; do sleep 0.05; done; echo whole`;
  const id = await client.submitJob({ entrypoint, entrypointResources: { telescope: 1 } });
  await until(async () => (await client.getJobStatus(id)) === "RUNNING", "the job to run");
  // The command waits until the node has left.
  const drained = run("drain", otherNode);
  const stateOfNode = async (): Promise<string | undefined> => {
    const { nodes } = JSON.parse((await run("status", "--json")).stdout) as { nodes: { nodeId: string; state: string }[] };
    return nodes.find(({ nodeId }) => nodeId === otherNode)?.state;
  };
  await until(async () => (await stateOfNode()) === "draining", "the drain to begin");
  // An idle node would leave meanwhile.
  for (let looks = 0; looks < 3; looks += 1) expect(await stateOfNode()).toBe("draining");
  writeFileSync(go, "");
  expect(await ended(id)).toMatchObject({ status: "SUCCEEDED", driverNodeId: otherNode });
  expect((await drained).exitCode).toBe(0);
  expect(await stateOfNode()).toBeUndefined();
});
