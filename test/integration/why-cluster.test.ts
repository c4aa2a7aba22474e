/** `why(ref)` in a cluster: the reasons why a call waits on the possible nodes. */
import { get, init, type ObjectRef, ready, remote, shutdown, type Why, why } from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { until } from "./session.ts";

let cluster: TestCluster;
let second: TestNode;

beforeAll(async () => {
  cluster = await TestCluster.start({ head: { numCpus: 1 } });
  second = await cluster.addNode({ numCpus: 2, resources: { special: 1 } });
});
afterAll(() => cluster.shutdown());
beforeEach(async () => {
  await init({ address: cluster.address });
});
afterEach(shutdown);

async function whyWhen(ref: ObjectRef<unknown>, reason: RegExp): Promise<Why> {
  let last: Why | undefined;
  await until(
    async () => {
      last = await why(ref);
      return reason.test(String(last));
    },
    `why() to say ${String(reason)}`,
  ).catch((error: Error) => {
    throw new Error(`${error.message}; it says: ${String(last)}`);
  });
  return last as Why;
}

class Holder {
  hold(): void {}
}
const work = remote((): string => "done");
const shortId = ({ nodeId }: { nodeId: string }): string => nodeId.slice(0, 12);

test("what no node has, even when it is empty", async () => {
  const ref = work.options({ numCpus: 8 }).remote();
  expect(await whyWhen(ref, /no node has that/)).toMatchObject({ state: "can never run" });
  const labelled = work.options({ labelSelector: { zone: "nowhere" } }).remote();
  expect(await whyWhen(labelled, /whose label zone is nowhere/)).toMatchObject({ state: "can never run" });
  const place = remote(Holder)
    .options({ resources: { missing: 1 } })
    .remote();
  await whyWhen(place.hold.remote(), /actor Holder can never run: as things are, it waits for 1 missing, and no node has that/);
});

test("room on none: what each node has free, and who holds it on this one", async () => {
  const holders = Array.from({ length: 3 }, () => remote(Holder).options({ numCpus: 1 }).remote());
  await Promise.all(holders.map((holder) => ready(holder)));
  const ref = work.remote();
  const found = await whyWhen(ref, /no node has room/);
  expect(found.state).toBe("waits for resources");
  expect(found.reason).toContain(`node ${shortId(second)} has 0 of 2 CPU free`);
  expect(found.reason).toMatch(/this one, has 0 of 1 CPU free/);
  expect(found.reason).toMatch(/held on this node by actor Holder \(1 CPU\)/);
  expect(found.details["nodes"]).toHaveLength(2);
});

test("the head that is away, and a node that is not heard of", async () => {
  const holder = remote(Holder)
    .options({ resources: { special: 1 } })
    .remote();
  await ready(holder);
  const ref = work.options({ resources: { special: 1 } }).remote();
  await whyWhen(ref, new RegExp(`no node has room for it: node ${shortId(second)} has .*0 of 1 special free`));
  cluster.pauseHead();
  try {
    expect(await whyWhen(ref, /the head of the cluster does not answer/)).toMatchObject({ state: "waits for resources" });
  } finally {
    cluster.resumeHead();
  }
  await whyWhen(ref, /no node has room/);
  second.pause();
  try {
    await whyWhen(ref, new RegExp(`no node that could have it takes new work: node ${shortId(second)} is not heard of at present`));
  } finally {
    second.resume();
  }
  await whyWhen(ref, /no node has room/);
  expect(await get(work.remote())).toBe("done");
});
