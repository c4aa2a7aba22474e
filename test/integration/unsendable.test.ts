/**
 * Errors for a value that cannot leave its process, or a call without `.remote()`: the variable or the call, the reason, and the way out.
 */
import { spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { createWriteStream } from "node:fs";
import { createServer } from "node:http";
import { Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { put, remote, type SerializationError } from "shoal";
import { afterAll, describe, expect, test } from "vitest";
import { failureOf, useSession } from "./session.ts";

useSession({ numCpus: 1 });

const WHERE = "inside the function, in the constructor of an actor, or in a module that the function imports";
const stream = createWriteStream("/dev/null");
const thread = new Worker("setInterval(() => {}, 1000)", { eval: true });
const server = createServer();
const child = spawn("sleep", ["60"]);
const listening = Object.assign(new EventEmitter(), { setMaxListeners: new EventEmitter().setMaxListeners.bind(undefined) });
/** As the clients of databases are made: the socket lies deep inside, behind a proxy. */
const client = new Proxy({ engine: { connection: { socket: new Socket() } }, find: (): number[] => [] }, {});
const parts = { deep: [1, { out: stream }] };

afterAll(async () => {
  stream.end();
  child.kill("SIGKILL");
  await thread.terminate();
});

describe("a captured variable is named with the way to what cannot travel, the reason and the remedy", () => {
  const cases: readonly [string, string, () => unknown][] = [
    ["stream", "`stream` (WriteStream)", () => stream.write("")],
    ["thread", "`thread` (Worker)", () => thread.threadId],
    ["server", "`server` (Server)", () => server.listening],
    ["child", "`child` (ChildProcess)", () => child.pid],
    ["client", "`client` → proxy target → .engine → .connection → .socket (Socket)", () => client.find()],
    ["parts", "`parts` → .deep → [1] → .out (WriteStream)", () => parts.deep],
    ["listening", "`listening` → .setMaxListeners → bound target", () => listening.listenerCount("x")],
  ];
  test.each(cases)("%s", (variable, way, work) => {
    const error = thrownBy(() => void remote(work).remote()) as SerializationError;
    expect(error.name).toBe("SerializationError");
    expect(error.path).toContain(`captured ${way}`);
    expect(error.hint).toContain(`tied to this process: create \`${variable}\` ${WHERE}.`);
    expect(error.message).toContain(error.hint);
  });
});

describe("a value is named with what it is of", () => {
  test("a result, with the line of its function; the element of several, the item of a stream", async () => {
    function make(): object {
      return { open: { socket: new Socket() } };
    }
    const place = String.raw`\(.*unsendable\.test\.ts:\d+\)`;
    const { message } = await failureOf(remote(make).remote());
    expect(message).toMatch(
      new RegExp(
        `^the result of make ${place} cannot be sent to another process:\\n +the result of make ${place} → \\.open → \\.socket \\(Socket\\)`,
      ),
    );
    const [, second] = remote(() => [1, new WeakRef({})], { numReturns: 2 }).remote() as unknown as Promise<unknown>[];
    expect((await failureOf(second as Promise<unknown>)).message).toMatch(/^ +the result of .* → \[1\] \(WeakRef\) cannot be sent/m);
    class Maker {
      make(): object {
        return new Socket();
      }
      *items(): Generator {
        yield 1;
        yield new Socket();
      }
    }
    using maker = remote(Maker).remote();
    expect((await failureOf(maker.make.remote())).message).toMatch(new RegExp(`^the result of Maker\\.make ${place} cannot be sent`));
    const items = maker.items.remote();
    await items.next();
    expect((await failureOf(items.next())).message).toMatch(new RegExp(`^item 2 of Maker\\.items ${place} cannot be sent`));
  });

  test("arguments", () => {
    const train = remote(function train(_step: number, _box: object) {});
    expect(thrownBy(() => train.remote(1, { socket: new Socket() })).message).toContain(
      "the arguments of train → [1] → .socket (Socket) cannot be sent",
    );
    expect(thrownBy(() => put({ socket: new Socket() })).message).toContain("value → .socket (Socket) cannot be sent");
  });
});

test("what is called without .remote() says so", () => {
  class Greeter {
    hello(): string {
      return "hello";
    }
  }
  const ActorClass = remote(Greeter) as unknown as { (): void; new (): object };
  const double = remote(function double(x: number) {
    return 2 * x;
  });
  using greeter = remote(Greeter).remote();
  const hello = greeter.hello as unknown as () => string;
  expect(thrownBy(() => (double as unknown as (x: number) => void)(1)).message).toContain("use double.remote()");
  for (const make of [() => ActorClass(), () => new ActorClass()]) expect(thrownBy(make).message).toContain("use Greeter.remote()");
  expect(thrownBy(hello).message).toBe(
    "Cannot call Greeter.hello directly: it is a method of an actor, which runs in a process of its own: use .hello.remote()",
  );
});

function thrownBy(work: () => unknown): Error & { hint?: string } {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error("it threw nothing");
}
