/**
 * Transactions whose question or answer is lost on the way: between the client and a real server stands a proxy that swallows one direction.
 *
 * The caller's answer has to agree with the stored state, and nothing may be applied twice.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { ControlPlaneUnavailableError, UnknownOutcomeError } from "../../src/runtime/control-plane/control-plane-errors.ts";
import { connectNats, type NatsLink } from "../../src/runtime/nats/nats-link.ts";
import { NatsStore } from "../../src/runtime/nats/nats-store.ts";
import { NatsServers, sleep, until } from "./nats-servers.ts";
import { bytes, describeNats, text } from "./planes.ts";

describeNats("a transaction whose messages are lost", () => {
  let servers: NatsServers;
  let proxy: Proxy;
  let links: NatsLink[];
  let store: NatsStore;
  let other: NatsStore;
  let count = 0;
  let key: string;

  beforeAll(async () => {
    servers = await NatsServers.start();
  });
  afterAll(() => servers.close());
  beforeEach(async () => {
    count += 1;
    key = `key${count}`;
    proxy = await Proxy.before(servers.urls[0] as string);
    links = [await connectNats({ servers: [proxy.url], name: "proxied" }), await connectNats({ servers: servers.urls, name: "direct" })];
    [store, other] = (await Promise.all(links.map((link) => NatsStore.open(link)))) as [NatsStore, NatsStore];
  });
  afterEach(async () => {
    await store.close();
    await other.close();
    await Promise.all(links.map((link) => link.close()));
    await proxy.close();
  });

  const create = (value: string, more: readonly string[] = []): Promise<unknown> =>
    store
      .transaction({
        checks: [{ key, revision: 0 }],
        writes: [key, ...more].map((name) => ({ key: name, value: bytes(value) })),
      })
      .catch((error: unknown) => error);

  test("the answer is lost: the transaction finds itself, with its revisions", async () => {
    proxy.swallow("answers");
    const done = create("1", [`${key}.b`]);
    await until(async () => (await other.get(`${key}.b`)) !== undefined, "it is applied");
    proxy.heal();
    const [first, second] = [await other.get(key), await other.get(`${key}.b`)];
    expect(await done).toEqual({ committed: true, revisions: [first?.revision, second?.revision] });
    expect((await other.get(key))?.revision).toBe(first?.revision);
  });

  test("the question is lost: it is sent again", async () => {
    proxy.swallow("questions");
    const done = create("1");
    await sleep(300);
    expect(await other.get(key)).toBeUndefined();
    proxy.heal();
    expect(await done).toMatchObject({ committed: true });
    expect(text((await other.get(key))?.value)).toBe("1");
  });

  test("the answer is lost and somebody has written over the key: the outcome is unknown, and nothing is written over that", async () => {
    proxy.swallow("answers");
    const done = create("1");
    await until(async () => (await other.get(key)) !== undefined, "it is applied");
    await other.transaction({ writes: [{ key, value: bytes("2") }] });
    proxy.heal();
    expect(await done).toBeInstanceOf(UnknownOutcomeError);
    expect(text((await other.get(key))?.value)).toBe("2");
  });

  test("a write without a check is not sent twice", async () => {
    proxy.swallow("answers");
    const done = store.transaction({ writes: [{ key, value: bytes("1") }] }).catch((error: unknown) => error);
    await until(async () => (await other.get(key)) !== undefined, "it is applied");
    await other.transaction({ writes: [{ key, value: bytes("2") }] });
    proxy.heal();
    expect(await done).toBeInstanceOf(UnknownOutcomeError);
    await sleep(500);
    expect(text((await other.get(key))?.value)).toBe("2");
  });

  test("while no server is there, a transaction waits its time and says that nothing was changed", async () => {
    proxy.refuse();
    await until(() => links[0]?.isConnected === false, "the client knows that it has no server");
    const transaction = { checks: [{ key, revision: 0 }], writes: [{ key, value: bytes("1") }], timeoutMs: 500 };
    await expect(store.transaction(transaction)).rejects.toThrow(ControlPlaneUnavailableError);
    proxy.heal();
    await sleep(1_000);
    expect(await other.get(key)).toBeUndefined();
    expect(await store.transaction({ ...transaction, timeoutMs: 10_000 })).toMatchObject({ committed: true });
  });

  test("a part of a batch is lost: none of it is applied until all of it is", async () => {
    const writes = Array.from({ length: 20 }, (_, index) => ({ key: `${key}.k${index}`, value: bytes("x".repeat(10_000)) }));
    proxy.cutAfter(60_000);
    const done = store.transaction({ checks: [{ key: `${key}.k0`, revision: 0 }], writes });
    await sleep(100);
    // The batch may be sent again just now: then the server stores one after the other, and whoever looks in that moment sees some of them.
    if ((await other.get(`${key}.k0`)) !== undefined)
      await until(async () => (await other.get(`${key}.k19`)) !== undefined, "the rest of it is applied");
    expect(await done).toMatchObject({ committed: true });
    expect(await other.list(key)).toHaveLength(20);
  });

  test("a listing goes on after its connection was cut", async () => {
    const writes = Array.from({ length: 400 }, (_, index) => ({ key: `${key}.k${index}`, value: bytes(`${index} ${"x".repeat(10_000)}`) }));
    for (let from = 0; from < writes.length; from += 50) await other.transaction({ writes: writes.slice(from, from + 50) });
    const listing = store.list(key);
    await sleep(5);
    proxy.refuse();
    await sleep(300);
    proxy.heal();
    expect(new Set((await listing).map((entry) => entry.key))).toEqual(new Set(writes.map((write) => write.key)));
  });
});

type Direction = "questions" | "answers";

/** Passes bytes between clients and one server, or does not. */
class Proxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #swallowed: Direction | undefined;
  #isRefusing = false;
  #bytesLeft = Number.POSITIVE_INFINITY;

  private constructor(target: URL) {
    this.#server = createServer((client) => {
      if (this.#isRefusing) {
        client.destroy();
        return;
      }
      const upstream = connect(Number(target.port), target.hostname);
      this.#pass(client, upstream, "questions");
      this.#pass(upstream, client, "answers");
    });
  }

  static async before(url: string): Promise<Proxy> {
    const proxy = new Proxy(new URL(url));
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  swallow(direction: Direction): void {
    this.#swallowed = direction;
  }

  /** Cuts the connections after so many more bytes of questions. */
  cutAfter(bytesLeft: number): void {
    this.#bytesLeft = bytesLeft;
  }

  refuse(): void {
    this.#isRefusing = true;
    this.#cut();
  }

  /** Swallowed bytes stay lost: the connections that miss them are cut. */
  heal(): void {
    if (this.#swallowed !== undefined) this.#cut();
    this.#swallowed = undefined;
    this.#isRefusing = false;
  }

  async close(): Promise<void> {
    this.#cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(from: Socket, to: Socket, direction: Direction): void {
    this.#sockets.add(from);
    from.on("data", (data) => {
      if (this.#swallowed === direction) return;
      if (direction === "questions") this.#bytesLeft -= data.length;
      if (this.#bytesLeft < 0) {
        to.end(data.subarray(0, data.length + this.#bytesLeft));
        this.#bytesLeft = Number.POSITIVE_INFINITY;
        from.destroy();
        return;
      }
      to.write(data);
    });
    from.on("close", () => {
      this.#sockets.delete(from);
      to.destroy();
    });
    from.on("error", () => to.destroy());
  }

  #cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
