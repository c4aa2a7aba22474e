/** The provider `kubernetes` on recorded answers of a real API server: the contract of providers, and broken connections. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import type { LaunchRequest, NodeProvider } from "../../src/ops/autoscaler/index.ts";
import { openKubernetes } from "../../src/ops/autoscaler/providers/kubernetes/kubernetes-provider.ts";
import { providerSuite, type ProviderUnderTest } from "../../src/testing/provider-suite.ts";
import { RecordedApiServer } from "./recorded-api-server.ts";
import { until } from "./session.ts";

const folder = mkdtempSync(join(tmpdir(), "test-shoal-kubernetes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let server: RecordedApiServer;
let provider: NodeProvider;

async function open(): Promise<NodeProvider> {
  const config = { kubeconfig: server.kubeconfig(folder), image: "node:1" };
  return await openKubernetes(config, { clusterName: "demo" }, { environment: {}, folder });
}

function request(instanceId: string): LaunchRequest {
  const labels = { "shoal.io/instance-id": instanceId };
  return { instanceId, type: "cpu", resources: { CPU: 1 }, labels, nodeConfig: {}, command: ["shoal"], env: {}, joinToken: "t" };
}

const listed = async (): Promise<string[]> => (await provider.list()).map(({ instanceId, state }) => `${instanceId} ${state}`);
const untilRunning = (id: string): Promise<void> => until(async () => (await listed()).includes(`${id} running`), `${id} to run`);

beforeEach(async () => {
  server = await RecordedApiServer.start();
  provider = await open();
});
afterEach(async () => {
  await provider.close();
  await server.stop();
});

for (const { name, run } of providerSuite(async (): Promise<ProviderUnderTest> => {
  const made = await open();
  const inject = { quota: (isOn: boolean) => void (server.isFull = isOn), loseAnswers: (count: number) => void (server.lost = count) };
  return { provider: made, close: () => made.close(), inject };
}))
  test(name, async () => {
    expect([undefined, "the provider's list cannot lag"]).toContain(await run());
  });

test("lists are answered from the watch, and pods that others delete leave them", async () => {
  await provider.launch([request("a"), request("b")]);
  await untilRunning("a");
  await untilRunning("b");
  const before = server.asked.length;
  for (let times = 0; times < 20; times += 1) await provider.list();
  expect(server.asked.slice(before).filter((asked) => asked === "GET pods")).toEqual([]);
  server.remove("a");
  await until(async () => !(await listed()).some((one) => one.startsWith("a ")), "the deleted pod to leave the list");
  expect(await listed()).toEqual(["b running"]);
});

test("a cut watch resumes without a list, and one whose version is forgotten lists anew", async () => {
  await provider.launch([request("a")]);
  await untilRunning("a");
  const lists = (): number => server.asked.filter((asked) => asked === "GET pods").length;
  const watches = (): number => server.asked.filter((asked) => asked === "WATCH pods").length;
  const watchesBefore = watches();
  const listsBefore = lists();
  server.cutWatches();
  await until(() => watches() > watchesBefore, "another watch");
  expect(lists()).toBe(listsBefore);
  server.cutWatches({ forgets: true });
  server.remove("a");
  await until(async () => (await listed()).length === 0, "the change that no watch told");
});

test("a secret goes when its pod runs, and with a pod that never does", async () => {
  await provider.launch([request("a")]);
  expect(server.secrets).toEqual(new Set(["a-join"]));
  await untilRunning("a");
  await until(async () => (await provider.list()).length === 1 && server.secrets.size === 0, "the secret to go");
  server.secrets.add("b-join");
  await provider.terminate(["b"]);
  expect(server.secrets.size).toBe(0);
});

test("a pod on a lost machine is deleted without its machine's word once its time is over", async () => {
  server.hasLostMachines = true;
  await provider.launch([request("lost"), request("fresh")]);
  await untilRunning("lost");
  await untilRunning("fresh");
  await provider.terminate(["lost"]);
  server.deletedAt = new Date(Date.now() + 30_000).toISOString();
  await provider.terminate(["fresh"]);
  await until(async () => (await listed()).every((one) => one.endsWith(" terminating")), "both pods to be deleted");
  await provider.terminate(["lost", "fresh"]);
  await until(async () => (await listed()).length === 1, "the overdue pod to go");
  expect(await listed()).toEqual(["fresh terminating"]);
});

test("a server that is away fails the list in words, and launches have no answer", async () => {
  await server.stop();
  expect(await provider.launch([request("a")])).toEqual([]);
  await expect(provider.list()).rejects.toThrow(/ECONNREFUSED|socket hang up|ECONNRESET/);
  await expect(provider.terminate(["a"])).rejects.toThrow("a: ");
  server = await RecordedApiServer.start();
});
