import { createServer } from "node:net";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { ActorDiedError } from "../../runtime/base/errors.ts";
import { remote } from "../api.ts";
import { inspectSerializability } from "./inspect-serializability.ts";
import { deregisterSerializer, registerSerializer } from "./values/registered-serializers.ts";

const server = createServer();
const gate = Promise.resolve();

test("what can be sent has no problems", () => {
  const offset = 1;
  for (const value of [5, { a: [1n, new Map([["k", new Date()]])] }, (x: number) => x + offset, class A {}, new ActorDiedError("gone")]) {
    const report = inspectSerializability(value);
    expect(report.problems).toEqual([]);
    expect(report.isSerializable).toBe(true);
  }
  expect(String(inspectSerializability([1], "numbers"))).toBe("numbers can be sent to another process");
});

test("finds all that cannot be sent, each with the way to it", () => {
  const report = inspectSerializability({ connection: server, later: [gate, { again: gate }], ok: 1 }, "options");
  expect(report.isSerializable).toBe(false);
  expect(report.problems.map(({ path, problem }) => `${path.join("")} ${problem}`)).toEqual([
    "options.connection (Server) cannot be sent",
    "options.later[0] (Promise) cannot be sent",
    "options.later[1].again (Promise) cannot be sent",
  ]);
});

test("looks into what functions capture, into private fields and into remote functions", () => {
  class Store {
    #connection: unknown;
    constructor(connection: unknown) {
      this.#connection = connection;
    }
    read(): unknown {
      return this.#connection;
    }
  }
  const store = new Store(server);
  const train = (): unknown => [store, gate];
  for (const value of [train, remote(train)]) {
    const paths = inspectSerializability(value).problems.map(({ path }) => path.join(" "));
    expect(paths).toHaveLength(2);
    expect(paths.join()).toContain("`store`");
    expect(paths.join()).toContain("#connection");
    expect(paths.join()).toContain("`gate`");
  }
});

test("prints a tree", () => {
  const text = `options cannot be sent to another process: 2 problems
  .a
    .first (Promise) cannot be sent
      Await it first, or pass an ObjectRef.
    .second (Promise) cannot be sent
      Await it first, or pass an ObjectRef.`;
  const report = inspectSerializability({ a: { first: gate, second: gate } }, "options");
  expect(String(report)).toBe(text);
  expect(inspect(report)).toBe(text);
  expect(String(inspectSerializability(gate))).toContain("  value (Promise) cannot be sent");
});

describe("registered classes", () => {
  class Client {
    readonly url = "a";
    readonly server = server;
  }

  test("are looked at in their serialized form, until they are deregistered", () => {
    expect(inspectSerializability(new Client()).isSerializable).toBe(false);
    registerSerializer(Client, { serialize: ({ url }) => url, deserialize: () => new Client() });
    expect(deregisterSerializer(Client)).toBe(true);
    expect(deregisterSerializer(Client)).toBe(false);
    registerSerializer(Client, { serialize: ({ url }) => url, deserialize: (url) => ({ url }) as Client });
    expect(inspectSerializability([new Client()]).problems).toEqual([]);
    deregisterSerializer(Client);
    expect(inspectSerializability([new Client()]).isSerializable).toBe(false);
    expect(() => deregisterSerializer(5 as never)).toThrow(TypeError);
  });
});

test("a name that is no text is refused", () => {
  expect(() => inspectSerializability(1, 2 as never)).toThrow(TypeError);
});
