/**
 * Applications behind a proxy: a handler's request and possible answers, bodies in both directions, errors, several applications, handles,
 * composition and cancellation.
 */
import { getEventListeners } from "node:events";
import { writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { actors, get, getActor } from "shoal";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { sharedMemory } from "../../src/runtime/os/shared-memory.ts";
import { ask } from "./serve-client.ts";
import { failureOf, Log, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2 });

let address = "";

function pathOf({ url }: Request): string {
  return /^https?:\/\/[^/]*([^?]*)/.exec(url)?.[1] ?? "";
}

class Echo {
  readonly #word = Promise.withResolvers<void>();

  async fetch(request: Request): Promise<unknown> {
    const url = new URL(request.url);
    switch (pathOf(request)) {
      case "/text":
        return "plain text";
      case "/object":
        return { path: pathOf(request), query: url.searchParams.get("q") };
      case "/bytes":
        return new Uint8Array([1, 2, 3]);
      case "/nothing":
        return undefined;
      case "/cookies": {
        const headers = new Headers();
        headers.append("set-cookie", "a=1; Path=/");
        headers.append("set-cookie", "b=2");
        return new Response("cookies", { headers, status: 201, statusText: "Made" });
      }
      case "/seen":
        return {
          method: request.method,
          url: request.url,
          prefix: request.headers.get("x-forwarded-prefix"),
          many: request.headers.get("x-many"),
          isRequest: request instanceof Request,
          body: await request.text(),
        };
      case "/length": {
        let length = 0;
        for await (const piece of request.body ?? []) length += (piece as Uint8Array).byteLength;
        return { length };
      }
      case "/large":
        return new Response(
          new ReadableStream({
            pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
          }),
        );
      case "/events": {
        const word = this.#word.promise;
        const events = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
          yield new TextEncoder().encode("data: one\n\n");
          await word;
          yield new TextEncoder().encode("data: two\n\n");
        };
        return new Response(ReadableStream.from(events()), { headers: { "content-type": "text/event-stream" } });
      }
      case "/word":
        this.#word.resolve();
        return "heard";
      case "/mirror":
        return new Response(request.body);
      case "/empty":
        return new Response(null, { status: 204 });
      case "/throws":
        throw new Error("secret of the program");
      case "/teapot":
        throw Object.assign(new Error("short and stout"), { status: 418 });
      default:
        return new Response("not here", { status: 404 });
    }
  }
}

beforeAll(async () => {
  await serve.start({ httpOptions: { port: 0, maxBodyBytes: 50_000_000, allowedHosts: ["shop.example"] } });
  await serve.run(serve.deployment(Echo, { maxOngoingRequests: 20 }).bind(), { name: "echo", routePrefix: "/echo" });
  address = Object.values((await serve.status()).proxies)[0]?.address ?? "";
});
afterAll(() => serve.shutdown());

test("what a handler returns becomes a response", async () => {
  expect(await ask(address, "/echo/text")).toMatchObject({
    status: 200,
    body: "plain text",
    headers: { "content-type": "text/plain;charset=UTF-8" },
  });
  expect(JSON.parse((await ask(address, "/echo/object?q=7")).body)).toEqual({ path: "/object", query: "7" });
  expect(await ask(address, "/echo/bytes")).toMatchObject({ status: 200, body: "\u0001\u0002\u0003" });
  expect(await ask(address, "/echo/nothing")).toMatchObject({ status: 200, body: "", headers: { "content-length": "0" } });
  expect(await ask(address, "/echo/empty")).toMatchObject({ status: 204, body: "" });
  const cookies = await ask(address, "/echo/cookies");
  expect(cookies).toMatchObject({ status: 201, body: "cookies" });
  expect(cookies.headers["set-cookie"]).toEqual(["a=1; Path=/", "b=2"]);
});

test("a handler sees the request as it was sent, without the prefix of its application", async () => {
  const answer = await ask(address, "/echo/seen?x=1", {
    method: "POST",
    body: "hällo",
    headers: { "x-many": ["a", "b"], host: "shop.example" },
  });
  expect(JSON.parse(answer.body)).toEqual({
    method: "POST",
    url: "http://shop.example/seen?x=1",
    prefix: "/echo",
    many: "a, b",
    isRequest: true,
    body: "hällo",
  });
  for (const method of ["PUT", "PATCH", "DELETE", "OPTIONS"])
    expect(JSON.parse((await ask(address, "/echo/seen", { method })).body)).toMatchObject({ method });
  const head = await ask(address, "/echo/text", { method: "HEAD" });
  expect(head).toMatchObject({ status: 200, body: "", headers: { "content-length": "10" } });
});

test("every answer has the id of its request, and a client's own id is kept", async () => {
  const [one, two] = await Promise.all([ask(address, "/echo/text"), ask(address, "/echo/text")]);
  expect(one.headers["x-request-id"]).toMatch(/^[\w-]+$/);
  expect(one.headers["x-request-id"]).not.toBe(two.headers["x-request-id"]);
  expect((await ask(address, "/echo/text", { headers: { "x-request-id": "mine-1" } })).headers["x-request-id"]).toBe("mine-1");
});

test("errors of user code are told by an id alone", async () => {
  const answer = await ask(address, "/echo/throws");
  expect(answer.status).toBe(500);
  expect(JSON.parse(answer.body)).toEqual({ error: "internal error", status: 500, requestId: answer.headers["x-request-id"] });
  expect((await ask(address, "/echo/teapot")).status).toBe(418);
  expect(await ask(address, "/nobody")).toMatchObject({ status: 404 });
  expect(await ask(address, "/echoing")).toMatchObject({ status: 404 });
});

test("bodies stream in both directions without being gathered", async () => {
  const size = 30_000_000;
  const sent = await ask(address, "/echo/length", { method: "POST", body: new Uint8Array(size) });
  expect(JSON.parse(sent.body)).toEqual({ length: size });
  const small = await ask(address, "/echo/mirror", { method: "POST", body: "to and fro" });
  expect(small.body).toBe("to and fro");
  // More than all windows and buffers together, read by a client that leaves in the middle.
  const received = await new Promise<number>((resolve, reject) => {
    let length = 0;
    const sending = httpRequest(`${address}/echo/large`, (response) => {
      response.on("data", (piece: Buffer) => {
        length += piece.length;
        if (length > 20_000_000) {
          resolve(length);
          response.destroy();
        }
      });
    });
    sending.on("error", reject);
    sending.end();
  });
  expect(received).toBeGreaterThan(20_000_000);
});

test("an event reaches its client before the next one is there", async () => {
  const events = await fetch(`${address}/echo/events`);
  const reader = (events.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader.read()).value).toBe("data: one\n\n");
  // Nothing else lets the handler go on.
  expect((await ask(address, "/echo/word")).body).toBe("heard");
  expect((await reader.read()).value).toBe("data: two\n\n");
  expect((await reader.read()).done).toBe(true);
});

test("a body that is too large is refused, whether its size is said or not", async () => {
  const tooLarge = await ask(address, "/echo/length", { method: "POST", headers: { "content-length": "60000000" }, body: "" }).catch(
    (error: Error) => error,
  );
  expect(tooLarge).toMatchObject({ status: 413 });
  const status = await new Promise<number | string>((resolve) => {
    const sending = httpRequest(`${address}/echo/length`, { method: "POST", headers: { "transfer-encoding": "chunked" } }, (response) => {
      resolve(response.statusCode ?? 0);
      response.resume();
      sending.destroy();
    });
    sending.on("error", (error) => resolve(error.message));
    const piece = new Uint8Array(1_000_000);
    const more = (): void => {
      if (!sending.destroyed) sending.write(piece, () => setImmediate(more));
    };
    more();
  });
  expect([413, "write EPIPE", "read ECONNRESET", "socket hang up"]).toContain(status);
});

test("an answer that is given before a large body is read reaches the client that still sends", async () => {
  const unread = serve.deployment(() => Response.json({ error: "no" }, { status: 403 }), { name: "Unread", actorOptions: { numCpus: 0 } });
  await serve.run(unread.bind(), { name: "unread", routePrefix: "/unread" });
  const { promise: outcome, resolve } = Promise.withResolvers<string>();
  const socket = connect({ port: Number(new URL(address).port), host: "127.0.0.1", allowHalfOpen: true });
  let answer = "";
  socket.on("data", (piece: Buffer) => {
    // The client sends the rest after the answer arrived.
    if (answer === "") socket.write(new Uint8Array(4_900_000));
    answer += piece.toString("latin1");
  });
  socket.on("error", (error) => resolve(error.message));
  socket.on("end", () => socket.end(() => resolve("all was sent")));
  socket.write("POST /unread HTTP/1.1\r\nhost: x\r\ncontent-length: 5000000\r\n\r\n");
  socket.write(new Uint8Array(100_000));
  expect(await outcome).toBe("all was sent");
  expect(answer).toMatch(/^HTTP\/1\.1 403 [^]*\{"error":"no"\}$/);
  socket.destroy();
  await serve.delete("unread");
});

test("the proxy tells its health and its routes", async () => {
  expect(await ask(address, "/-/healthz")).toMatchObject({ status: 200, body: "success" });
  expect(JSON.parse((await ask(address, "/-/routes")).body)).toMatchObject({ "/echo": "echo" });
});

test("deployments call each other: values, unawaited responses, streams, errors", async () => {
  class Model {
    #factor: number;
    constructor(factor: number) {
      this.#factor = factor;
    }
    scale(numbers: readonly number[]): number[] {
      return numbers.map((number) => number * this.#factor);
    }
    sum(numbers: readonly number[]): number {
      return numbers.reduce((sum, number) => sum + number, 0);
    }
    async *count(upTo: number): AsyncGenerator<number, void, undefined> {
      for (let number = 0; number < upTo; number += 1) yield number;
    }
    fail(): never {
      throw new RangeError("out of numbers");
    }
    /** How much this process has read from the store. */
    read(): { copiedBytes: number; mappedBytes: number } {
      type Counted = { store: { counters: { copiedBytes: number; mappedBytes: number } } };
      return { ...((globalThis as unknown as Record<symbol, Counted>)[Symbol.for("shoal.runtime.1")] as Counted).store.counters };
    }
  }
  const Scale = serve.deployment(Model, { name: "Scale" });
  class Api {
    #scale: serve.Handle<typeof Scale>;
    #list: readonly serve.Handle<typeof Scale>[];
    constructor(scale: serve.Handle<typeof Scale>, list: readonly serve.Handle<typeof Scale>[]) {
      this.#scale = scale;
      this.#list = list;
    }
    async fetch(request: Request): Promise<unknown> {
      if (request.url.endsWith("/stream")) {
        const numbers = this.#scale.count.remote(3);
        return new Response(
          ReadableStream.from(
            (async function* () {
              for await (const number of numbers) yield new TextEncoder().encode(`data: ${number}\n\n`);
            })(),
          ),
          { headers: { "content-type": "text/event-stream" } },
        );
      }
      if (request.url.endsWith("/nested")) {
        const [six, failing] = [this.#scale.sum.remote([1, 2, 3]), this.#scale.fail.remote()];
        const failure = await this.#scale.sum
          .remote([1, failing])
          .then(undefined, (error: unknown) => ((error as Error).cause as Error).message);
        return { sum: await this.#list[0]?.sum.remote([six, 10, six]), failure };
      }
      // Not awaited: the numbers go from one replica to the other.
      const scaled = this.#scale.scale.remote([1, 2, 3]);
      return { sum: await this.#list[0]?.sum.remote(scaled) };
    }
  }
  const other = Scale.options({ name: "Other" });
  const handle = await serve.run(serve.deployment(Api).bind(Scale.bind(10), [other.bind(1)]), { name: "chain", routePrefix: "/chain" });
  expect(JSON.parse((await ask(address, "/chain")).body)).toEqual({ sum: 60 });
  expect(JSON.parse((await ask(address, "/chain/nested")).body)).toEqual({ sum: 22, failure: "out of numbers" });
  expect((await ask(address, "/chain/stream")).body).toBe("data: 0\n\ndata: 1\n\ndata: 2\n\n");
  const scale = await serve.getDeploymentHandle<typeof Scale>("Scale", "chain");
  expect(await scale.scale.remote([4])).toEqual([40]);
  const items: number[] = [];
  for await (const item of scale.count.remote(1000)) {
    items.push(item);
    if (item === 4) break;
  }
  expect(items).toEqual([0, 1, 2, 3, 4]);
  const failure = await failureOf(scale.fail.remote());
  expect(failure.cause).toBeInstanceOf(RangeError);
  expect((failure.cause as Error).message).toBe("out of numbers");
  expect(await failureOf((scale as never as { nothing: { remote(): Promise<void> } }).nothing.remote())).toMatchObject({
    cause: { message: 'Cannot call deployment Scale: it has no method "nothing"' },
  });
  expect(await scale.broadcast("scale", [1])).toEqual([[10]]);
  // A signal that outlives its calls keeps none of them.
  const { signal } = new AbortController();
  const followed = scale.options({ signal });
  await Promise.all([followed.scale.remote([4]), followed.broadcast("scale", [1])]);
  for await (const item of followed.count.remote(3)) expect(item).toBeLessThan(3);
  expect(getEventListeners(signal, "abort")).toEqual([]);
  const large = new Float64Array(100_000).fill(1);
  const before = await scale.read.remote();
  expect(await scale.sum.remote(large as never)).toBe(100_000);
  const after = await scale.read.remote();
  if (sharedMemory() !== undefined) {
    expect(after.copiedBytes).toBe(before.copiedBytes);
    expect(after.mappedBytes - before.mappedBytes).toBeGreaterThanOrEqual(large.byteLength);
  }
  void handle;
  expect(await serve.delete("chain")).toBe(true);
  expect((await ask(address, "/chain")).status).toBe(404);
  expect(await failureOf(scale.scale.remote([1]))).toBeInstanceOf(serve.DeploymentUnavailableError);
});

test("a client that goes away aborts the handler and what it has called", async () => {
  const log = new Log(folder);
  const { file } = log;
  class Slow {
    async work(): Promise<void> {
      const { appendFileSync } = await import("node:fs");
      const { getRuntimeContext } = await import("shoal");
      const { signal } = getRuntimeContext();
      appendFileSync(file, "began\n");
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      appendFileSync(file, "callee aborted\n");
    }
  }
  class Front {
    #slow: serve.Handle<typeof Slow>;
    constructor(slow: serve.Handle<typeof Slow>) {
      this.#slow = slow;
    }
    async fetch(request: Request): Promise<string> {
      const { appendFileSync } = await import("node:fs");
      request.signal.addEventListener("abort", () => appendFileSync(file, "handler aborted\n"), { once: true });
      await this.#slow.work.remote();
      return "never";
    }
  }
  await serve.run(serve.deployment(Front).bind(serve.deployment(Slow).bind()), { name: "slow", routePrefix: "/slow" });
  const sending = httpRequest(`${address}/slow`);
  sending.on("error", () => {});
  sending.end();
  await until(() => log.lines.includes("began"), "the callee to begin");
  sending.destroy();
  await until(() => log.lines.includes("handler aborted") && log.lines.includes("callee aborted"), "both to be aborted");
  // A call of a handle that is cancelled.
  const handle = await serve.getDeploymentHandle<typeof Slow>("Slow", "slow");
  const response = handle.work.remote();
  await until(() => log.lines.filter((line) => line === "began").length === 2, "the second call to begin");
  response.cancel();
  expect(await failureOf(response)).toBeInstanceOf(serve.RequestCancelledError);
  await until(() => log.lines.filter((line) => line === "callee aborted").length === 2, "the second call to be aborted");
  expect(await failureOf(handle.work.options({ timeoutMs: 100 }).remote())).toMatchObject({ code: "TASK_TIMEOUT" });
  await serve.delete("slow");
});

test("requests above the limit of waiting ones are refused with what the deployment says", async () => {
  const go = join(folder, "busy-go");
  class Busy {
    async fetch(): Promise<string> {
      const { existsSync } = await import("node:fs");
      while (!existsSync(go)) await new Promise((resolve) => setTimeout(resolve, 5));
      return "done";
    }
  }
  const options = { maxOngoingRequests: 1, maxQueuedRequests: 1, backpressureConfig: { statusCode: 429, retryAfterMs: 2000 } } as const;
  await serve.run(serve.deployment(Busy, options).bind(), { name: "busy", routePrefix: "/busy" });
  const early: unknown[] = [];
  const asked = Array.from({ length: 6 }, async () => {
    const answer = await ask(address, "/busy");
    early.push(answer);
    return answer;
  });
  await until(() => early.length === 4, "four requests to be refused");
  writeFileSync(go, "");
  const answers = await Promise.all(asked);
  const statuses = answers.map(({ status }) => status).sort((a, b) => a - b);
  expect(statuses).toEqual([200, 200, 429, 429, 429, 429]);
  expect(answers.find(({ status }) => status === 429)?.headers["retry-after"]).toBe("2");
  await serve.delete("busy");
});

test("clients that stand still, up or down, give their places to requests that wait", async () => {
  class Narrow {
    async fetch(request: Request): Promise<unknown> {
      if (request.method === "POST") return await request.text();
      return pathOf(request) === "/large" ? new Uint8Array(20_000_000) : "served";
    }
  }
  await serve.run(serve.deployment(Narrow, { maxOngoingRequests: 2 }).bind(), { name: "narrow", routePrefix: "/narrow" });
  const { hostname, port } = new URL(address);
  const still = [
    "POST /narrow/up HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
    "GET /narrow/large HTTP/1.1\r\nHost: h\r\n\r\n",
  ].map((text) => {
    const socket = connect(Number(port), hostname);
    socket.pause().on("error", () => {});
    socket.write(text);
    return socket;
  });
  await until(async () => {
    const gone = AbortSignal.timeout(300);
    return await fetch(`${address}/narrow/`, { signal: gone }).then(
      () => false,
      () => true,
    );
  }, "both places to be taken");
  expect((await ask(address, "/narrow/")).body).toBe("served");
  for (const socket of still) socket.destroy();
  await serve.delete("narrow");
}, 30_000);

test("a broadcast reaches the replica that is full too, before its next request, and leaves the queue when it is cancelled", async () => {
  const log = new Log(folder);
  const { file } = log;
  class Cache {
    #cleared = 0;
    async work(name: string): Promise<void> {
      const { appendFileSync, existsSync } = await import("node:fs");
      appendFileSync(file, `${name} began\n`);
      while (!existsSync(`${file}-go-${name}`)) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    clear(by: string): number {
      process.getBuiltinModule("node:fs").appendFileSync(file, `cleared by ${by}\n`);
      this.#cleared += 1;
      return this.#cleared;
    }
  }
  const deployment = serve.deployment(Cache, { numReplicas: 2, maxOngoingRequests: 1, actorOptions: { numCpus: 0 } });
  const handle = await serve.run(deployment.bind(), { name: "cache", routePrefix: null });
  const first = handle.work.remote("first");
  await until(() => log.lines.length === 1, "one replica to be full");
  const stop = new AbortController();
  const cancelled = handle.options({ signal: stop.signal }).broadcast("clear", "the cancelled");
  const cleared = handle.broadcast("clear", "all");
  await until(() => log.lines.filter((line) => line.startsWith("cleared")).length === 2, "the idle replica to be cleared by both");
  // Both replicas are taken now: the last call waits for one of them, behind the broadcast.
  const others = [handle.work.remote("second"), handle.work.remote("third")];
  await until(() => log.lines.includes("second began") || log.lines.includes("third began"), "the other replica to be full");
  stop.abort();
  expect(await failureOf(cancelled)).toBeInstanceOf(serve.RequestCancelledError);
  expect(await failureOf(handle.options({ timeoutMs: 100 }).broadcast("clear", "the late"))).toMatchObject({ code: "TASK_TIMEOUT" });
  // The replicas hear of the ends of these two before the next question, by the same connection.
  for (const { name = "" } of await actors({ namespace: "shoal.serve" }))
    if (name.startsWith("SERVE_REPLICA::cache#"))
      await (await getActor<{ checkHealth(): void }>(name, { namespace: "shoal.serve" })).checkHealth.remote();
  // The other replica stays full, so that the last call can only come here.
  writeFileSync(`${file}-go-first`, "");
  expect((await cleared).sort((a, b) => a - b)).toEqual([1, 2]);
  for (const name of ["second", "third"]) writeFileSync(`${file}-go-${name}`, "");
  await Promise.all([first, ...others]);
  const lines = log.lines;
  expect(lines.filter((line) => line.startsWith("cleared")).sort()).toEqual([
    "cleared by all",
    "cleared by all",
    "cleared by the cancelled",
  ]);
  expect(lines.lastIndexOf("cleared by all")).toBeLessThan(Math.max(lines.indexOf("second began"), lines.indexOf("third began")));
  await serve.delete("cache");
});

test("functions are deployments as well", async () => {
  const greet = serve.deployment(async function greet(request: Request) {
    return `hello ${request.url.slice(request.url.lastIndexOf("/"))}`;
  });
  const double = serve.deployment(function double(x: number) {
    return x * 2;
  });
  const targets = [
    { application: greet.bind(), name: "greet", routePrefix: "/greet" },
    { application: double.bind(), name: "double", routePrefix: null },
  ] as const;
  const [, handle] = await serve.runMany(targets);
  expect((await ask(address, "/greet/you")).body).toBe("hello /you");
  const doubled: number = await handle.remote(21);
  expect(doubled).toBe(42);
  await Promise.all([serve.delete("greet"), serve.delete("double")]);
});

test("an ingress that answers no client is warned of where it has a path, and only there", async () => {
  class Calls {
    work(): number {
      return 1;
    }
  }
  class Field {
    // Belongs to the objects, not to the class.
    fetch = (): string => "here";
  }
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  // A replica that takes long to start is told of as well.
  const warnings = (): string[] => write.mock.calls.map(([text]) => String(text)).filter((text) => !text.includes("does not run yet"));
  try {
    await serve.run(serve.deployment(Field).bind(), { name: "field", routePrefix: "/field" });
    await serve.run(serve.deployment(Calls).bind(), { name: "calls", routePrefix: null });
    expect(warnings()).toEqual([]);
    await serve.run(serve.deployment(Calls).bind(), { name: "calls", routePrefix: "/calls" });
    expect(warnings()).toEqual([
      "shoal: application calls answers every request at /calls with 501, as its ingress Calls has no fetch(request) and no websocket(socket, request): give it one, or run it with routePrefix: null where handles alone call it.\n",
    ]);
  } finally {
    write.mockRestore();
  }
  expect((await ask(address, "/calls")).status).toBe(501);
  await Promise.all([serve.delete("calls"), serve.delete("field")]);
});

test("mistakes are told before anything is started", async () => {
  const Fine = serve.deployment(Echo);
  expect(() => serve.deployment(Echo, { numReplica: 2 } as never)).toThrow('there is no option "numReplica": did you mean numReplicas?');
  expect(() => serve.deployment(Echo, { num_replicas: 2 } as never)).toThrow("it is numReplicas");
  expect(() => serve.deployment(Echo, { maxOngoingRequests: 0 })).toThrow(RangeError);
  expect(() => serve.deployment(7 as never)).toThrow("a class or a function is needed: received 7");
  expect(() => serve.deployment(Echo, { numReplicas: 2, autoscalingConfig: {} })).toThrow("numReplicas is fixed beside it");
  expect(() => serve.deployment(Echo, { actorOptions: { name: "x" } as never })).toThrow('there is no option "name"');
  expect(await failureOf(serve.run(Echo as never))).toMatchObject({ name: "TypeError" });
  expect(await failureOf(serve.run(Fine.bind(), { routePrefix: "x" }))).toMatchObject({ name: "RangeError" });
  expect(await failureOf(serve.run(Fine.bind(), { name: "second", routePrefix: "/echo" }))).toMatchObject({
    name: "RangeError",
    message: 'Cannot run application second: application echo has the routePrefix already: received "/echo"',
  });
  const twice = { application: Fine.bind(), name: "twice", routePrefix: null };
  expect((await failureOf(serve.runMany([twice, twice]))).message).toContain('two of them have the same name: received "twice"');
  expect((await failureOf(serve.runMany([]))).message).toContain("an array of { application, name, routePrefix } is needed");
  expect((await serve.status()).applications["twice"]).toBeUndefined();
  expect(await failureOf(serve.getAppHandle("none"))).toBeInstanceOf(serve.DeploymentUnavailableError);
  void get;
});
