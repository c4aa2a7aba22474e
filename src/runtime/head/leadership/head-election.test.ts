/** Tests elections at the start, after a death, after a stop, without a bus, and without a store. In virtual time, in memory. */
import { describe, expect, test } from "vitest";
import { VirtualTime } from "../../../../sim/virtual-time.ts";
import { MemoryBus, MemoryExchange } from "../../control-plane/memory-bus.ts";
import { ControlPlaneUnavailableError } from "../../control-plane/control-plane-errors.ts";
import { HeadElection } from "./head-election.ts";
import type { Leadership } from "./leadership.ts";
import type { StoreTransaction, TransactionResult } from "../../control-plane/control-store.ts";
import { MemoryStore } from "../../control-plane/memory-store.ts";
import { KeyTable } from "../../control-plane/key-table.ts";

/** A way to the store and the bus that can be taken away, as can the process' turns. */
class ModelHead {
  readonly election: HeadElection;
  readonly log: string[] = [];
  leadership: Leadership | undefined;
  isStopped = false;
  hasStore = true;
  hasBus = true;
  readonly #late: (() => void)[] = [];

  constructor(world: World, id: string, { hasRivals = true }: { hasRivals?: boolean } = {}) {
    const head = this;
    class Store extends MemoryStore {
      override transaction(transaction: StoreTransaction): Promise<TransactionResult> {
        if (!head.hasStore) return Promise.reject(new ControlPlaneUnavailableError("away"));
        return super.transaction(transaction);
      }
    }
    class Bus extends MemoryBus {
      override publish(subject: string, data: Uint8Array): void {
        if (head.hasBus) super.publish(subject, data);
      }
      override flush(): Promise<void> {
        return head.hasBus ? super.flush() : new Promise(() => {});
      }
    }
    const bus = new Bus(world.exchange);
    const { subscribe } = bus;
    bus.subscribe = (subject, handle) => subscribe.call(bus, subject, (data) => head.hasBus && head.#awake(() => handle(data)));
    this.election = new HeadElection({
      id,
      address: `${id}:1`,
      store: new Store(world.tables),
      bus,
      hasRivals,
      clock: {
        nowMs: () => world.time.nowMs,
        after: (delayMs, run) => {
          let isOff = false;
          world.time.after(delayMs, () => this.#awake(() => isOff || run()));
          return () => {
            isOff = true;
          };
        },
      },
      lead: async (leadership) => {
        this.leadership = leadership;
        this.log.push(`leads ${leadership.term}`);
        return { end: () => this.log.push("ends") };
      },
    });
  }

  wake(): void {
    this.isStopped = false;
    for (const run of this.#late.splice(0)) run();
  }

  #awake(run: () => void): void {
    if (this.isStopped) this.#late.push(run);
    else run();
  }
}

class World {
  readonly time = new VirtualTime();
  readonly tables = new KeyTable();
  readonly exchange = new MemoryExchange();
  readonly heads: ModelHead[];

  constructor(count: number) {
    this.heads = Array.from({ length: count }, (_, index) => new ModelHead(this, `h${index}`));
  }

  async pass(ms: number): Promise<void> {
    const end = this.time.nowMs + ms;
    while (this.time.nowMs < end) {
      this.time.runUntil(this.time.nowMs + 20);
      for (let turns = 0; turns < 15; turns += 1) await Promise.resolve();
    }
  }

  get leaders(): ModelHead[] {
    return this.heads.filter(({ election, isStopped }) => election.leads && !isStopped);
  }
}

async function withLeader(count = 3): Promise<{ world: World; leader: ModelHead }> {
  const world = new World(count);
  await world.pass(2_000);
  expect(world.leaders).toHaveLength(1);
  return { world, leader: world.leaders[0] as ModelHead };
}

describe("the election of a head", () => {
  test("of three that begin together one leads, and all know where it is", async () => {
    const { world, leader } = await withLeader();
    await world.pass(10_000);
    expect(world.leaders).toEqual([leader]);
    expect(leader.log).toEqual(["leads 1"]);
    for (const { election } of world.heads) expect(election.leader?.address).toBe(leader.election.leader?.address);
    expect(leader.election.mayAnswer).toBe(true);
  });

  test("a lone head waits for nobody", async () => {
    const world = new World(0);
    const head = new ModelHead(world, "h", { hasRivals: false });
    await world.pass(20);
    expect(head.log).toEqual(["leads 1"]);
  });

  test("when it dies another leads within two seconds", async () => {
    const { world, leader } = await withLeader();
    leader.election.close();
    leader.isStopped = true;
    await world.pass(2_000);
    expect(world.leaders).toHaveLength(1);
    expect(world.leaders[0]?.log).toEqual(["leads 2"]);
  });

  test("one that stood still is replaced, learns it when it wakes up, and is a standby", async () => {
    const { world, leader } = await withLeader();
    leader.isStopped = true;
    await world.pass(5_000);
    const [next] = world.leaders;
    leader.wake();
    await world.pass(5_000);
    expect(world.leaders).toEqual([next]);
    expect(leader.log).toEqual(["leads 1", "ends"]);
  });

  test("one without the bus is replaced, and what it then writes is refused", async () => {
    const { world, leader } = await withLeader();
    leader.hasBus = false;
    await world.pass(3_000);
    expect(world.heads.filter((head) => head !== leader && head.election.leads)).toHaveLength(1);
    await expect(leader.leadership?.commit([{ key: "x", value: new Uint8Array() }])).rejects.toThrow("does not lead any more");
    await world.pass(5_000);
    // The standby does not hear the new leader, and claims nothing while it cannot hear.
    expect(world.leaders).toHaveLength(1);
    expect(leader.log).toEqual(["leads 1", "ends"]);
  });

  test("one that reaches neither the store nor the bus sends its nodes away before they end, and answers no more", async () => {
    const { world, leader } = await withLeader();
    leader.hasStore = false;
    leader.hasBus = false;
    await world.pass(12_000);
    // Nodes stay with a head for as long as it keeps their links, even after another has taken over.
    expect(world.leaders).toContain(leader);
    expect(world.leaders).toHaveLength(2);
    await world.pass(5_000);
    expect(leader.log).toEqual(["leads 1", "ends"]);
    expect(leader.election.mayAnswer).toBe(false);
    expect(world.leaders).toHaveLength(1);
  });

  test("while nobody reaches the store nobody takes over for long, and the first to reach it again leads", async () => {
    const { world, leader } = await withLeader();
    for (const head of world.heads) head.hasStore = false;
    await world.pass(10_000);
    expect(world.leaders).toEqual([leader]);
    expect(leader.election.mayAnswer).toBe(true);
    await world.pass(20_000);
    expect(world.leaders).toEqual([]);
    expect(leader.election.mayAnswer).toBe(false);
    for (const head of world.heads) head.hasStore = true;
    await world.pass(4_000);
    expect(world.leaders).toHaveLength(1);
  });

  test("a leader that reaches the store again before it gives up knows that it had not", async () => {
    const { world, leader } = await withLeader();
    await world.pass(5_000);
    expect(leader.election.proofs).toEqual({ isFresh: true, lapses: 0 });
    for (const head of world.heads) head.hasStore = false;
    await world.pass(9_000);
    expect(leader.election.proofs).toEqual({ isFresh: false, lapses: 0 });
    for (const head of world.heads) head.hasStore = true;
    await world.pass(3_000);
    expect(leader.election.proofs).toEqual({ isFresh: true, lapses: 1 });
    expect(leader.log).toEqual(["leads 1"]);
  });

  test("a lone head goes on without the store, as nobody else can lead", async () => {
    const world = new World(0);
    const head = new ModelHead(world, "h", { hasRivals: false });
    await world.pass(20);
    head.hasStore = false;
    await world.pass(60_000);
    expect(head.log).toEqual(["leads 1"]);
    expect(head.election.mayAnswer).toBe(true);
  });

  test("with deaths and stops one after another there is one leader again each time, with a term of its own", async () => {
    const { world } = await withLeader(3);
    const terms: number[] = [];
    for (let round = 0; round < 10; round += 1) {
      const leader = world.leaders[0] as ModelHead;
      terms.push(leader.leadership?.term ?? 0);
      leader.isStopped = true;
      await world.pass(3_000);
      leader.wake();
      await world.pass(1_000);
      expect(world.leaders).toHaveLength(1);
    }
    expect(new Set(terms).size).toBe(10);
    expect(terms.toSorted((a, b) => a - b)).toEqual(terms);
  });
});
