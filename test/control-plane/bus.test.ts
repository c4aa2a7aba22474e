/** Promises of a bus, in memory and on a real NATS server. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { BusRequestError } from "../../src/runtime/control-plane/control-plane-errors.ts";
import type { Bus } from "../../src/runtime/control-plane/bus.ts";
import { until } from "./nats-servers.ts";
import { bytes, type Client, eachPlane, type Plane, text } from "./planes.ts";

const REQUEST = { timeoutMs: 5_000 };

eachPlane("a bus", (start) => {
  let plane: Plane;
  let one: Client;
  let other: Client;
  let bus: Bus;
  let errors: unknown[];

  beforeAll(async () => {
    plane = await start();
  });
  afterAll(() => plane[Symbol.asyncDispose]());
  beforeEach(async () => {
    errors = [];
    one = await plane.open({ onError: (error) => errors.push(error) });
    other = await plane.open();
    bus = one.bus;
  });
  afterEach(async () => {
    await one[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
  });

  /** Both are at the server: messages sent from now on arrive. */
  async function ready(): Promise<void> {
    await bus.flush();
    await other.bus.flush();
  }

  test("a message reaches all subscribers to its subject, in the order in which it was sent", async () => {
    const seen: string[] = [];
    for (const [name, from] of [
      ["one", one],
      ["other", other],
      ["again", other],
    ] as const) {
      for (const subject of ["hb.a", "hb.b", "hb"]) from.bus.subscribe(subject, (data) => seen.push(`${name} ${subject} ${text(data)}`));
    }
    await ready();
    other.bus.publish("hb.a", bytes("1"));
    other.bus.publish("hb.a", bytes("2"));
    other.bus.publish("hb.a.b", bytes("3"));
    other.bus.publish("hb", bytes("4"));
    await until(() => seen.length >= 9, "the last message arrived");
    for (const name of ["one", "other", "again"]) {
      expect(seen.filter((line) => line.startsWith(`${name} `))).toEqual([`${name} hb.a 1`, `${name} hb.a 2`, `${name} hb 4`]);
    }
  });

  test("1,000 messages of one sender arrive in their order", async () => {
    const seen: number[] = [];
    other.bus.subscribe("n", (data) => seen.push(Number(text(data))));
    await ready();
    for (let index = 0; index < 1_000; index += 1) bus.publish("n", bytes(String(index)));
    await until(() => seen.length === 1_000, "all arrived");
    expect(seen).toEqual(Array.from({ length: 1_000 }, (_, index) => index));
  });

  test("the receiver has bytes of its own", async () => {
    const seen: Uint8Array[] = [];
    other.bus.subscribe("own", (data) => seen.push(data));
    await ready();
    const data = bytes("before");
    bus.publish("own", data);
    data.fill(0);
    await until(() => seen.length === 1, "it arrived");
    expect(text(seen[0])).toBe("before");
  });

  test("nothing is handed over after a subscription was closed", async () => {
    const seen: string[] = [];
    const subscription = other.bus.subscribe("closing", () => seen.push("closed"));
    other.bus.subscribe("closing", () => seen.push("open"));
    subscription.close();
    await ready();
    bus.publish("closing", bytes(""));
    await until(() => seen.length > 0, "it arrived");
    expect(seen).toEqual(["open"]);
  });

  test("a request is answered by the responder, several at once each by its own answer", async () => {
    other.bus.respond("double.it", async (data) => {
      await Promise.resolve();
      return bytes(String(Number(text(data)) * 2));
    });
    await ready();
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => bus.request("double.it", bytes(String(index)), REQUEST)));
    expect(answers.map(text)).toEqual(Array.from({ length: 50 }, (_, index) => String(index * 2)));
  });

  test("a request that nobody answers fails at once, long before its time is over", async () => {
    const started = Date.now();
    await expect(bus.request("nobody", bytes(""), { timeoutMs: 30_000 })).rejects.toMatchObject({
      code: "BUS_REQUEST_FAILED",
      reason: "nobody answers",
    });
    expect(Date.now() - started).toBeLessThan(10_000);
  });

  test("a request ends with its time, and a late answer does no harm", async () => {
    const { promise: late, resolve } = Promise.withResolvers<Uint8Array>();
    other.bus.respond("slow", () => late);
    await ready();
    await expect(bus.request("slow", bytes(""), { timeoutMs: 100 })).rejects.toMatchObject({ reason: "timeout" });
    resolve(bytes("late"));
    await ready();
  });

  test("what a responder throws reaches the one who asked, and the next request is answered", async () => {
    let calls = 0;
    other.bus.respond("moody", () => {
      calls += 1;
      if (calls === 1) throw new Error("not today\nreally");
      return bytes("yes");
    });
    await ready();
    const error = await bus.request("moody", bytes(""), REQUEST).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(BusRequestError);
    expect(error).toMatchObject({ reason: "refused", message: expect.stringContaining("not today\nreally") as string });
    expect(text(await bus.request("moody", bytes(""), REQUEST))).toBe("yes");
  });

  test("what a subscriber throws is reported, and the next message is handed over", async () => {
    const seen: string[] = [];
    bus.subscribe("moody", (data) => {
      seen.push(text(data) ?? "");
      if (seen.length === 1) throw new Error("not today");
    });
    await ready();
    other.bus.publish("moody", bytes("1"));
    other.bus.publish("moody", bytes("2"));
    await until(() => seen.length === 2, "both arrived");
    expect(errors.map(String)).toEqual(["Error: not today"]);
  });

  test("closing a bus ends its open requests and refuses more", async () => {
    other.bus.respond("never", () => new Promise(() => {}));
    await ready();
    const open = bus.request("never", bytes(""), { timeoutMs: 30_000 }).catch((error: unknown) => error);
    await bus.close();
    expect(await open).toMatchObject({ reason: "closed" });
    expect(() => bus.publish("a", bytes(""))).toThrow(BusRequestError);
    expect(() => bus.subscribe("a", () => {})).toThrow(BusRequestError);
    await bus.close();
  });

  test("mistakes of the caller are refused before anything is sent", () => {
    expect(() => bus.publish("a.*", bytes(""))).toThrow(RangeError);
    expect(() => bus.publish("a b", bytes(""))).toThrow(RangeError);
    expect(() => bus.publish("", bytes(""))).toThrow(RangeError);
    expect(() => bus.publish("a", "text" as unknown as Uint8Array)).toThrow(TypeError);
    expect(() => bus.publish("a", new Uint8Array(2 * 1024 * 1024))).toThrow("bytes");
    expect(() => bus.subscribe("a.*", () => {})).toThrow(RangeError);
    expect(() => bus.subscribe("a..b", () => {})).toThrow(RangeError);
  });
});
