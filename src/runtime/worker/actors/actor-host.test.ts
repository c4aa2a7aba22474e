import { describe, expect, test } from "vitest";
import type { ActorId } from "../../base/ids.ts";
import { ActorHost, type ConcurrencyGroup } from "./actor-host.ts";

const place = {
  actor: "a" as ActorId,
  actorName: undefined,
  incarnation: 0,
  shape: "",
  resources: {},
  accelerators: undefined,
  executor: undefined,
  isSerial: false,
};

class Driver {
  readonly host = new ActorHost();
  readonly log: string[] = [];
  readonly ends = new Map<string, () => void>();
  readonly begins = new Map<string, () => void>();

  constructor(groups: Record<string, number>) {
    this.host.begin(place, "C", groups);
  }

  /** A call that ends when `end` is called, or at once. */
  call(name: string, options: { group?: string; atOnce?: boolean; readsArguments?: boolean; isRemade?: boolean } = {}): void {
    this.host.enqueue(
      {
        isRemade: options.isRemade === true,
        run: (_instance, done, began) => {
          this.log.push(name);
          if (options.readsArguments === true) this.begins.set(name, began);
          else began();
          if (options.atOnce === true) done();
          else this.ends.set(name, done);
        },
      },
      this.group(options.group),
    );
  }

  group(name?: string): ConcurrencyGroup {
    return this.host.groupOf(name) as ConcurrencyGroup;
  }

  end(name: string): void {
    this.ends.get(name)?.();
  }
}

describe("the calls of an actor", () => {
  test("wait for the constructor, and run one after the other by default", () => {
    const serial = new Driver({ default: 1 });
    serial.call("a");
    serial.call("b");
    expect(serial.log).toEqual([]);
    serial.host.constructed({});
    expect(serial.log).toEqual(["a"]);
    serial.end("a");
    expect(serial.log).toEqual(["a", "b"]);
    expect(serial.host.groupOf("io")).toBeUndefined();
  });

  test("overlap up to the limit of their group, and one group never holds back another", () => {
    const driver = new Driver({ default: 1, io: 2 });
    driver.host.constructed({});
    for (const name of ["a", "b", "c"]) driver.call(name, { group: "io" });
    driver.call("d");
    driver.call("e");
    expect(driver.log).toEqual(["a", "b", "d"]);
    driver.end("d");
    driver.end("b");
    expect(driver.log).toEqual(["a", "b", "d", "e", "c"]);
  });

  test("begin in order also when the arguments of one take a while to be read", () => {
    const driver = new Driver({ default: 3 });
    driver.host.constructed({});
    driver.call("a", { readsArguments: true });
    driver.call("b");
    expect(driver.log).toEqual(["a"]);
    driver.begins.get("a")?.();
    expect(driver.log).toEqual(["a", "b"]);
  });

  test("of which one lacks a lost argument keep their order, and only those that make such again come before it", async () => {
    const driver = new Driver({ default: 1 });
    driver.host.constructed({});
    const { promise: lost, resolve: found } = Promise.withResolvers<void>();
    driver.call("a", { readsArguments: true });
    const isBack = driver.host.awaitArguments(driver.group(), () => lost).then(() => driver.log.push("a is back"));
    driver.call("b");
    expect(driver.host.tryBegin(driver.group())).toBeUndefined();
    driver.call("makes", { isRemade: true });
    driver.call("makes, too", { isRemade: true });
    expect(driver.log).toEqual(["a", "makes"]);
    found();
    await lost;
    driver.end("makes");
    await isBack;
    // The call whose argument has come back goes on before another begins.
    expect(driver.log).toEqual(["a", "makes", "a is back"]);
    driver.begins.get("a")?.();
    driver.end("a");
    expect(driver.log).toEqual(["a", "makes", "a is back", "makes, too"]);
    driver.end("makes, too");
    expect(driver.log.at(-1)).toBe("b");
  });

  test("on the hot path begin only where nothing is before them", () => {
    const driver = new Driver({ default: 1 });
    const instance = {};
    expect(driver.host.tryBegin(driver.group())).toBeUndefined();
    driver.host.constructed(instance);
    expect(driver.host.tryBegin(driver.group())).toBe(instance);
    expect(driver.host.tryBegin(driver.group())).toBeUndefined();
    driver.call("a");
    driver.host.finished(driver.group());
    expect(driver.log).toEqual(["a"]);
    expect(driver.host.tryBegin(driver.group())).toBeUndefined();
  });

  test("a long queue of calls that end at once does not grow the stack", () => {
    const driver = new Driver({ default: 1 });
    for (let index = 0; index < 100_000; index += 1) driver.call("x", { atOnce: true });
    driver.host.constructed({});
    expect(driver.log.length).toBe(100_000);
  });

  test("the last call runs after all groups have ended what came before it, and nothing runs after it", () => {
    const driver = new Driver({ default: 1, io: 2 });
    driver.host.constructed({});
    driver.call("a", { group: "io" });
    driver.call("b");
    driver.host.enqueueLast({ run: () => driver.log.push("end") });
    driver.call("c", { group: "io" });
    driver.end("b");
    expect(driver.log).toEqual(["a", "b"]);
    driver.end("a");
    expect(driver.log).toEqual(["a", "b", "end"]);
  });

  test("it is idle when no group has a call left", () => {
    const driver = new Driver({ default: 1, io: 1 });
    driver.host.constructed({});
    driver.call("a");
    driver.call("b", { group: "io" });
    driver.host.whenIdle(() => driver.log.push("idle"));
    driver.end("a");
    expect(driver.log).toEqual(["a", "b"]);
    driver.end("b");
    expect(driver.log).toEqual(["a", "b", "idle"]);
  });
});
