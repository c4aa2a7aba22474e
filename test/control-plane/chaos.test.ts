/**
 * The control plane while things go wrong: on memory with a faulty network before it, on three NATS servers that are killed and stopped.
 *
 * Below each, mutations: the same checks on a plane of which a promise was taken away, and they have to find it. `SHOAL_CHAOS_ROUNDS=10` makes the
 * run on NATS as many times longer.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LEADER_KEY } from "../../src/runtime/head/leadership/leadership.ts";
import { connectNats } from "../../src/runtime/nats/nats-link.ts";
import { StreamApi } from "../../src/runtime/nats/stream-api.ts";
import type { ControlStore } from "../../src/runtime/control-plane/control-store.ts";
import { MemoryStore } from "../../src/runtime/control-plane/memory-store.ts";
import { KeyTable } from "../../src/runtime/control-plane/key-table.ts";
import { FaultyStore, StaleStore, TornStore, UncheckedStore } from "./altered-stores.ts";
import { DirectReads } from "./direct-reads.ts";
import { NatsServers, sleep, until } from "./nats-servers.ts";
import { type Client, describeNats, type NatsPlane, natsPlane } from "./planes.ts";
import { exercise, RandomNumbers, Registers, Terms, Transfers, type Workload } from "./workloads.ts";

const SEED = 20;
const CLIENTS = 5;
const ROUNDS = Number(process.env["SHOAL_CHAOS_ROUNDS"] ?? 1);

const ignoreLeader = (key: string): boolean => key === LEADER_KEY;
const ignoreAll = (): boolean => true;

// These have tables of their own, and sleep most of the time.
describe.concurrent("memory behind a faulty network", () => {
  /** @param enough so many acknowledged changes show what there is to see, however long they take */
  async function run(workload: Workload, alter: (store: ControlStore) => ControlStore = (store) => store, enough = 3): Promise<string[]> {
    const tables = new KeyTable();
    const stores = Array.from({ length: CLIENTS }, (_, index) =>
      alter(new FaultyStore(new MemoryStore(tables), new RandomNumbers(SEED + index))),
    );
    return await exercise(stores, workload, async () => {
      await sleep(2_500);
      await until(() => workload.acknowledged >= enough, `${enough} changes were made`);
    });
  }

  test("no acknowledged change is lost, none is made twice, no read is stale", async () => {
    expect(await run(new Registers({ seed: SEED }))).toEqual([]);
  });
  test("transfers over two keys keep their sum", async () => {
    expect(await run(new Transfers({ seed: SEED }))).toEqual([]);
  });
  test("terms do not overlap", async () => {
    expect(await run(new Terms({ seed: SEED, claimEveryMs: 100 }))).toEqual([]);
  });

  describe("mutations are found", () => {
    test("stale reads", async () => {
      expect((await run(new Registers({ seed: SEED }), (store) => new StaleStore(store), 50)).join()).toContain("stale");
    });
    test("checks that are not made", async () => {
      expect((await run(new Registers({ seed: SEED }), (store) => new UncheckedStore(store, ignoreAll), 50)).join()).toContain(
        "over the same value",
      );
    });
    test("a fence that is off", async () => {
      const mutated = (store: ControlStore): ControlStore => new UncheckedStore(store, ignoreLeader);
      expect((await run(new Terms({ seed: SEED, claimEveryMs: 100 }), mutated, 50)).join()).toContain("not fenced");
    });
    test("transactions in parts", async () => {
      expect((await run(new Transfers({ seed: SEED }), (store) => new TornStore(store), 50)).join()).toContain("in part");
    });
  });
});

describeNats("three NATS servers", () => {
  let servers: NatsServers;
  let plane: NatsPlane;
  let clients: Client[];
  let api: StreamApi;

  beforeAll(async () => {
    servers = await NatsServers.start({ count: 3 });
    plane = natsPlane(servers, { replicas: 3 });
    clients = [];
    for (let index = 0; index < CLIENTS; index += 1) clients.push(await plane.open());
    api = new StreamApi({
      link: await connectNats({ servers: servers.urls, name: "observer" }),
      stream: plane.subjects.stream,
      timeoutMs: 20_000,
    });
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
    await api.link.close();
    await servers.close();
  });

  async function leaderIndex(): Promise<number> {
    for (;;) {
      const { cluster } = await api.call<{ cluster: { leader?: string } }>(`STREAM.INFO.${plane.subjects.stream}`);
      if (cluster.leader !== undefined) return servers.indexOf(cluster.leader);
      await sleep(100);
    }
  }

  const FAULTS: Readonly<Record<string, () => Promise<void>>> = {
    "kill -9 of the leader": async () => {
      const leader = await leaderIndex();
      await servers.kill(leader);
      await sleep(7_000);
      await servers.restart(leader);
    },
    "the leader stopped for 4 s": async () => {
      const leader = await leaderIndex();
      servers.pause(leader);
      await sleep(4_000);
      servers.resume(leader);
    },
    "kill -9 of all three": async () => {
      const all = Array.from({ length: servers.count }, (_, index) => index);
      await Promise.all(all.map((index) => servers.kill(index)));
      await sleep(300);
      await Promise.all(all.map((index) => servers.restart(index)));
    },
  };

  async function disturb(): Promise<void> {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const fault of Object.values(FAULTS)) {
        await sleep(500);
        await fault();
        // The fault is over when writes go through again.
        await leaderIndex();
        await sleep(500);
      }
    }
  }

  const stores = (alter: (store: ControlStore) => ControlStore = (store) => store): ControlStore[] =>
    clients.map(({ store }) => alter(store));

  test("calm: no read is stale on another server than the writer's, and a listing has what was acknowledged", async () => {
    const registers = new Registers({ seed: SEED, root: "calm" });
    const enough = async (): Promise<void> => {
      await sleep(1_500);
      await until(() => registers.acknowledged > 50, "enough was done");
    };
    expect(await exercise(stores(), registers, enough)).toEqual([]);
  });

  test(
    "killed and stopped servers: nothing acknowledged is lost, nothing is applied twice, in part or by a replaced leader",
    async () => {
      const workloads = [new Registers({ seed: SEED }), new Transfers({ seed: SEED }), new Terms({ seed: SEED, claimEveryMs: 3_000 })];
      const done = disturb();
      const enough = async (workload: Workload): Promise<void> => {
        await done;
        await until(() => workload.acknowledged > 3, "enough was done");
      };
      const results = await Promise.all(workloads.map((workload) => exercise(stores(), workload, () => enough(workload))));
      // While the leader changes an old one may answer a read: a read is a hint.
      expect(results.flat().filter((violation) => !violation.includes("stale"))).toEqual([]);
    },
    60_000 + ROUNDS * 60_000,
  );

  test("mutation: a fence that is off is found", async () => {
    const terms = new Terms({ seed: SEED, claimEveryMs: 100 });
    const violations = await exercise(
      stores((store) => new UncheckedStore(store, ignoreLeader)),
      terms,
      async () => {
        await sleep(2_000);
        await until(() => terms.acknowledged > 50, "enough was done");
      },
    );
    expect(violations.join()).toContain("not fenced");
  });

  test("mutation: stale reads are found, once replicas may answer", async () => {
    await using direct = await DirectReads.allow(api, { subjects: plane.subjects, urls: servers.urls });
    const registers = new Registers({ seed: SEED, root: "direct", count: 1 });
    const violations = await exercise(
      stores((store) => direct.before(store)),
      registers,
      async () => {
        await sleep(4_000);
        await until(() => registers.acknowledged > 50, "enough was done");
      },
    );
    expect(violations.join()).toContain("stale");
  });
});
