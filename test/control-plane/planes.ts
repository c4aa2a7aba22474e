/**
 * The control planes that the suites of this folder run against: the same code on memory and on NATS.
 *
 * A plane is one shared state; every `open` makes another client, as another process would be.
 */
import { randomBytes } from "node:crypto";
import { describe } from "vitest";
import type { Bus, BusOptions } from "../../src/runtime/control-plane/bus.ts";
import { MemoryBus, MemoryExchange } from "../../src/runtime/control-plane/memory-bus.ts";
import { NatsBus } from "../../src/runtime/nats/nats-bus.ts";
import { connectNats } from "../../src/runtime/nats/nats-link.ts";
import { NatsSubjects } from "../../src/runtime/nats/nats-subjects.ts";
import { NatsStore } from "../../src/runtime/nats/nats-store.ts";
import type { ControlStore } from "../../src/runtime/control-plane/control-store.ts";
import { MemoryStore } from "../../src/runtime/control-plane/memory-store.ts";
import { KeyTable } from "../../src/runtime/control-plane/key-table.ts";
import { NatsServers, WITHOUT_NATS } from "./nats-servers.ts";

export interface NatsPlane extends Plane {
  readonly subjects: NatsSubjects;
}

export interface Client extends AsyncDisposable {
  readonly store: ControlStore;
  readonly bus: Bus;
}

export interface Plane extends AsyncDisposable {
  open(options?: BusOptions): Promise<Client>;
}

/** The same tests for both kinds; those that need a server are skipped where there is none, and their title says why. */
export function eachPlane(title: string, tests: (start: () => Promise<Plane>) => void): void {
  describe(`${title} on memory`, () => {
    tests(async () => memoryPlane());
  });
  describeNats(`${title} on NATS`, () => {
    tests(async () => natsPlane(await NatsServers.start()));
  });
}

/** Also with three servers: a Raft group gives special answers while an operation is under way. */
export function eachStorePlane(title: string, tests: (start: () => Promise<Plane>) => void): void {
  eachPlane(title, tests);
  describeNats(`${title} on three NATS servers`, () => {
    tests(async () => natsPlane(await NatsServers.start({ count: 3 }), { replicas: 3 }));
  });
}

export function describeNats(title: string, tests: () => void): void {
  const problem = WITHOUT_NATS === undefined ? "" : `, which cannot run here: ${WITHOUT_NATS}`;
  describe.skipIf(WITHOUT_NATS !== undefined)(title + problem, () => {
    tests();
  });
}

function memoryPlane(): Plane {
  const tables = new KeyTable();
  const exchange = new MemoryExchange();
  return {
    async open(options) {
      const store = new MemoryStore(tables);
      const bus = new MemoryBus(exchange, options);
      return client(store, bus, async () => {});
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** A new name each time, so that a test sees nothing of the previous one. */
export function natsPlane(servers: NatsServers, { replicas = 1 }: { replicas?: number } = {}): NatsPlane {
  const cluster = `t${randomBytes(6).toString("hex")}`;
  return {
    subjects: new NatsSubjects(cluster),
    async open(options) {
      const link = await connectNats({ servers: servers.urls, name: "test" });
      const store = await NatsStore.open(link, { cluster, replicas });
      return client(store, new NatsBus(link, { ...options, cluster }), () => link.close());
    },
    [Symbol.asyncDispose]: () => servers.close(),
  };
}

function client(store: ControlStore, bus: Bus, closeLink: () => Promise<void>): Client {
  return {
    store,
    bus,
    async [Symbol.asyncDispose]() {
      await store.close();
      await bus.close();
      await closeLink();
    },
  };
}

export function bytes(value: string): Uint8Array {
  return new Uint8Array(Buffer.from(value, "utf8"));
}

export function text(data: Uint8Array | undefined): string | undefined {
  return data === undefined ? undefined : Buffer.from(data).toString("utf8");
}
