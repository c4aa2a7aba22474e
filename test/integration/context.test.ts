/**
 * A program's questions: its own ids and place, and the cluster's nodes and resources.
 */
import { hostname } from "node:os";
import { availableResources, clusterResources, getRuntimeContext, init, nodes, remote, shutdown, terminate } from "shoal";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "./sandbox.ts";

beforeAll(async () => {
  await init({ numCpus: 2, resources: { license: 3 }, namespace: "here", objectStoreMemoryBytes: 64 * 1024 * 1024 });
});
afterAll(() => shutdown());

const describeSelf = remote(function describeSelf() {
  return { ...getRuntimeContext(), pid: process.pid };
});

test("the driver knows its job, node and namespace, and has no task", () => {
  const context = getRuntimeContext();
  expect(context).toMatchObject({
    namespace: "here",
    taskId: undefined,
    taskName: undefined,
    actorId: undefined,
    actorName: undefined,
    assignedResources: {},
    wasCurrentActorReconstructed: false,
  });
  for (const id of [context.jobId, context.nodeId, context.workerId]) expect(id).toMatch(/^[0-9a-f]{8,}$/);
});

test("a task knows itself", async () => {
  const driver = getRuntimeContext();
  const [first, second] = [await describeSelf.remote(), await describeSelf.remote()];
  expect(first).toMatchObject({
    jobId: driver.jobId,
    nodeId: driver.nodeId,
    namespace: "here",
    taskName: "describeSelf",
    assignedResources: { CPU: 1 },
  });
  expect(first.actorId).toBeUndefined();
  expect(first.workerId).not.toBe(driver.workerId);
  expect(first.taskId).toMatch(/^[0-9a-f]+$/);
  expect(second.taskId).not.toBe(first.taskId);
});

test("a task knows the name and the resources that it was given", async () => {
  const task = describeSelf.options({ name: "mine", numCpus: 0.5, resources: { license: 2 } });
  expect(await task.remote()).toMatchObject({ taskName: "mine", assignedResources: { CPU: 0.5, license: 2 } });
});

test("a task knows itself after an await, and beside another on the same worker", async () => {
  const outer = remote(async function outer() {
    const before = getRuntimeContext().taskId;
    const inner = await describeSelf.remote();
    await new Promise((resolve) => setTimeout(resolve, 1));
    return { isSame: getRuntimeContext().taskId === before, differs: inner.taskId !== before, taskName: getRuntimeContext().taskName };
  });
  expect(await outer.remote()).toEqual({ isSame: true, differs: true, taskName: "outer" });
});

test("an actor knows itself", async () => {
  class Self {
    readonly #atStart = getRuntimeContext();
    look() {
      return { start: this.#atStart, now: getRuntimeContext() };
    }
  }
  const actor = remote(Self, { name: "self", resources: { license: 1 } }).remote();
  const { start, now } = await actor.look.remote();
  expect(now).toMatchObject({
    actorName: "self",
    taskName: "Self.look",
    assignedResources: { license: 1 },
    wasCurrentActorReconstructed: false,
  });
  expect(now.actorId).toMatch(/^[0-9a-f]+$/);
  expect(start.actorId).toBe(now.actorId);
  await terminate(actor);
});

test("nodes lists this machine", async () => {
  const list = await nodes();
  expect(list).toHaveLength(1);
  expect(list[0]).toMatchObject({
    nodeId: getRuntimeContext().nodeId,
    alive: true,
    hostname: hostname(),
    resources: { CPU: 2, license: 3 },
    objectStoreMemoryBytes: 64 * 1024 * 1024,
  });
});

test("resources that are in use are not available", async () => {
  expect(await clusterResources()).toMatchObject({ CPU: 2, license: 3 });
  // Tasks have held the CPUs before, and an actor a license.
  expect(
    await eventually(async () => {
      const { CPU, license } = await availableResources();
      return CPU === 2 && license === 3;
    }),
  ).toBe(true);
  const look = remote(async () => await availableResources(), { numCpus: 1.5, resources: { license: 0.0001 } });
  expect(await look.remote()).toMatchObject({ CPU: 0.5, license: 2.9999 });
  expect(await eventually(async () => (await availableResources())["license"] === 3)).toBe(true);
});

test("a worker can ask for all of it, too", async () => {
  const ask = remote(async () => ({ nodes: (await nodes()).length, total: await clusterResources() }));
  expect(await ask.remote()).toEqual({ nodes: 1, total: await clusterResources() });
});
