/** Clients that are hostile, broken or slow, over raw sockets: the right status, bounded memory, and other clients served meanwhile. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { type ActorHandle, actors, getActor } from "shoal";
import * as serve from "shoal/serve";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { ask } from "./serve-client.ts";
import { until, useSession } from "./session.ts";

useSession({ numCpus: 2 });

let address = "";
let port = 0;
let proxy: ActorHandle<ProxyHealth>;

/** The health check of the proxy's actor. */
interface ProxyHealth {
  checkHealth(): { openRequests: number };
}

class Echo {
  async fetch(request: Request): Promise<unknown> {
    const { pathname, searchParams } = new URL(request.url);
    switch (pathname) {
      case "/url":
        return request.url;
      case "/length": {
        let length = 0;
        for await (const piece of request.body ?? []) length += (piece as Uint8Array).byteLength;
        return String(length);
      }
      case "/ignores":
        return "not read";
      case "/large":
        return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) }));
      case "/wait":
        await new Promise((resolve) => setTimeout(resolve, 50));
        return "waited";
      case "/whole":
        return new Uint8Array(20_000_000).fill(120);
      case "/text":
        return "y".repeat(2_000_000);
      case "/short":
        return new Response(ReadableStream.from([new Uint8Array(10)]), { headers: { "content-length": "20" } });
      case "/long":
        return new Response(ReadableStream.from([new Uint8Array(10), new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n")]), {
          headers: { "content-length": "10" },
        });
      case "/wrong":
        return new Response("hello", {
          headers: { "content-length": "2", "transfer-encoding": "chunked", connection: "close", "x-request-id": "its" },
        });
      case "/sized":
        return new Response(request.method === "HEAD" ? null : ReadableStream.from([new Uint8Array(7)]), {
          headers: { "content-length": "7" },
        });
      case "/piece": {
        const bytes = new Uint8Array([97, 98, 99, 100]);
        const pieces: Record<string, unknown> = {
          buffer: bytes.buffer,
          words: new Uint16Array(bytes.buffer),
          view: new DataView(bytes.buffer, 1, 2),
          number: 5,
          object: { a: 1 },
        };
        const piece = pieces[searchParams.get("kind") ?? ""];
        if (searchParams.has("yielded"))
          return (async function* (): AsyncGenerator {
            yield piece;
          })();
        return new Response(ReadableStream.from([piece]) as ReadableStream<Uint8Array>);
      }
      case "/read": {
        const response = new Response("abc");
        await response.text();
        return response;
      }
      case "/returned":
        return new Error("a secret of the application");
      case "/thrown":
        throw new Response("not for you", { status: 403, headers: { "x-own": "1" } });
      case "/trailer":
        return new Response("abc", { headers: { trailer: "x-sum" } });
      case "/headless":
        return new Response(request.method === "HEAD" ? null : "hello");
      case "/fetched":
        return await fetch(searchParams.get("from") ?? "");
      case "/copied": {
        const copy = new Request(request, { headers: { "x-copied": "1" } });
        return [copy.headers.get("x-copied"), await copy.text(), request.bodyUsed];
      }
      case "/passed-on":
        // As a gateway passes a request on.
        return await fetch(new Request(new URL("/length", request.url), request));
      case "/none":
        return () => "a function";
      case "/big":
        return { count: 1n };
      default:
        return "ok";
    }
  }
}

beforeAll(async () => {
  const httpOptions = {
    port: 0,
    maxBodyBytes: 200_000,
    maxHeaderBytes: 4096,
    headersTimeoutMs: 1_000,
    bodyTimeoutMs: 600,
    answerTimeoutMs: 3_000,
    keepAliveTimeoutMs: 500,
    maxConnections: 1_500,
    allowedHosts: [".example"],
  };
  await serve.start({ httpOptions });
  await serve.run(serve.deployment(Echo, { maxOngoingRequests: 1_000 }).bind(), { name: "echo", routePrefix: "/" });
  address = Object.values((await serve.status()).proxies)[0]?.address ?? "";
  port = Number(new URL(address).port);
  const [found] = (await actors({ namespace: "shoal.serve" })).filter(({ name }) => name?.startsWith("SERVE_PROXY::") === true);
  proxy = await getActor<ProxyHealth>(found?.name ?? "", { namespace: "shoal.serve" });
});
afterAll(() => serve.shutdown());

test("a request can be copied, and passed on by fetch", async () => {
  const post = (path: string): Promise<Response> => fetch(`${address}${path}`, { method: "POST", body: "12345" });
  expect(await (await post("/copied")).json()).toEqual(["1", "12345", true]);
  expect(await (await post("/passed-on")).text()).toBe("5");
});

const open = new Set<Socket>();
afterEach(() => {
  for (const socket of open) socket.destroy();
  open.clear();
});

function raw(...texts: string[]): Socket {
  const socket = connect(port, "127.0.0.1");
  open.add(socket);
  socket.on("error", () => {});
  for (const text of texts) socket.write(text, "latin1");
  return socket;
}

/** All that the proxy says until it closes the connection, or until `enough` is in it. */
function said(socket: Socket, enough?: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.on("data", (piece: Buffer) => {
      text += piece.toString("latin1");
      if (enough?.test(text) === true) resolve(text);
    });
    socket.on("close", () => resolve(text));
  });
}

const statusOf = async (...texts: string[]): Promise<string> => (await said(raw(...texts), /\r\n\r\n/)).slice(9, 12);
const HEAD = "Host: h\r\n";

test.each([
  ["a length and chunks", `POST / HTTP/1.1\r\n${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["two lengths", `POST / HTTP/1.1\r\n${HEAD}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`],
  ["chunks not as the last coding", `POST / HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
  ["a length that is no number", `POST / HTTP/1.1\r\n${HEAD}Content-Length: +5\r\n\r\nhello`],
  ["a negative length", `POST / HTTP/1.1\r\n${HEAD}Content-Length: -5\r\n\r\nhello`],
  ["a null byte in the target", `GET /\0 HTTP/1.1\r\n${HEAD}\r\n`],
  ["a null byte in a header", `GET / HTTP/1.1\r\n${HEAD}a: b\0c\r\n\r\n`],
  ["a space before the colon", `GET / HTTP/1.1\r\n${HEAD}a : b\r\n\r\n`],
  ["a folded header", `GET / HTTP/1.1\r\n${HEAD} b\r\n\r\n`],
  ["no host", "GET / HTTP/1.1\r\n\r\n"],
  ["two hosts", `GET / HTTP/1.1\r\n${HEAD}${HEAD}\r\n`],
  ["a host that is none", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"],
  ["a target that is no path", `OPTIONS * HTTP/1.1\r\n${HEAD}\r\n`],
  ["no such method", `HACK / HTTP/1.1\r\n${HEAD}\r\n`],
  ["the internal method of WebSockets", `WEBSOCKET / HTTP/1.1\r\n${HEAD}\r\n`],
  ["no HTTP at all", "\x16\x03\x01\x02\r\n\r\n"],
])("%s: 400, and the connection ends", async (_name, text) => {
  const answer = await said(raw(text));
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
});

test("a proxy on loopback answers no domain that it was not told of: pages whose name is rebound to it get nothing", async () => {
  const statusFor = (host: string, target = "/"): Promise<string> =>
    statusOf(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect(await Promise.all(["evil.test", "evil.test:8000", "127.0.0.1.evil.test"].map((host) => statusFor(host)))).toEqual([
    "403",
    "403",
    "403",
  ]);
  expect(await statusFor("localhost", "http://evil.test/")).toBe("403");
  expect(await statusFor("evil.test", "/-/routes")).toBe("403");
  expect(await Promise.all(["localhost:1", "127.0.0.1", "[::1]", "shop.example"].map((host) => statusFor(host)))).toEqual([
    "200",
    "200",
    "200",
    "200",
  ]);
});

test("what is no answer is a 500 of its own, and the requests beside it are answered", async () => {
  const waiting = ask(address, "/wait");
  const [none, big] = await Promise.all([ask(address, "/none"), ask(address, "/big")]);
  expect([none.status, big.status, (await waiting).body]).toEqual([500, 500, "waited"]);
});

test("what cannot be a chunk breaks the request off", async () => {
  const answer = await said(raw(`POST /length HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n`, "zz\r\nhello\r\n"));
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(await ask(address, "/")).toMatchObject({ status: 200 });
});

test("headers that are too large: 431; that do not come: 408; a body that does not come: 408", async () => {
  expect(await statusOf(`GET / HTTP/1.1\r\n${HEAD}a: ${"x".repeat(5000)}\r\n\r\n`)).toBe("431");
  expect(await statusOf(`GET / HTTP/1.1\r\n${HEAD}${"a: b\r\n".repeat(2000)}\r\n`)).toBe("431");
  const [head, body, streamed] = await Promise.all([
    statusOf(`GET / HTTP/1.1\r\n${HEAD}a: `),
    statusOf(`POST / HTTP/1.1\r\n${HEAD}Content-Length: 5\r\n\r\nhe`),
    statusOf(`POST /length HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n`),
  ]);
  expect([head, body, streamed]).toEqual(["408", "408", "408"]);
});

test("a body that is too large: 413, with a length or without, and the client sees it", async () => {
  expect(await statusOf(`POST /length HTTP/1.1\r\n${HEAD}Content-Length: 200001\r\n\r\n`, "x".repeat(200_001))).toBe("413");
  const chunk = `ea60\r\n${"x".repeat(60_000)}\r\n`;
  expect(await statusOf(`POST /length HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n`, chunk, chunk, chunk, chunk, chunk)).toBe(
    "413",
  );
  expect(
    await said(raw(`POST /length HTTP/1.1\r\n${HEAD}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n`, chunk, chunk, "0\r\n\r\n")),
  ).toMatch(/120000$/);
});

test("an answer before the body has come reaches the client", async () => {
  const answer = await said(raw(`POST /ignores HTTP/1.1\r\n${HEAD}Content-Length: 150000\r\n\r\n`, "x".repeat(1000)), /not read/);
  expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*connection: close/i);
});

test("Expect: 100-continue is answered once the request is known to be taken", async () => {
  const socket = raw(`POST /length HTTP/1.1\r\n${HEAD}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n`);
  const answer = said(socket, /\r\n\r\n5$/);
  await new Promise<void>((resolve) => socket.once("data", () => resolve()));
  socket.write("hello");
  expect(await answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
  const large = await said(raw(`POST /length HTTP/1.1\r\n${HEAD}Expect: 100-continue\r\nContent-Length: 500000\r\n\r\n`), /\r\n\r\n/);
  expect(large).toMatch(/^HTTP\/1\.1 413 /);
  expect(await statusOf(`POST / HTTP/1.1\r\n${HEAD}Expect: miracles\r\nContent-Length: 0\r\n\r\n`)).toBe("417");
});

test("targets with a host are taken, and odd paths arrive as they are", async () => {
  const url = async (target: string): Promise<string> =>
    (await said(raw(`GET ${target} HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`))).split("\r\n\r\n")[1] ?? "";
  expect(await url("http://shop.example/url?q=1")).toBe("http://shop.example/url?q=1");
  expect(await url("/url?%zz=%00")).toBe("http://h/url?%zz=%00");
  expect(await url("//url")).toBe("ok");
});

test("a path is the same for the route, the application and the log, and an absolute target's host is the request's", async () => {
  const url = async (target: string, host = "h"): Promise<string> =>
    (await said(raw(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`), /\r\n\r\n.+/s)).split("\r\n\r\n")[1] ?? "";
  expect(await url("/x/../url")).toBe("http://h/url");
  expect(await url("/x/%2e%2e/url?a=/../b")).toBe("http://h/url?a=/../b");
  expect(await url("/x\\..\\url")).toBe("http://h/url");
  expect(await url("http://evil.example/url", "own.example")).toBe("http://evil.example/url");
  for (const host of ["a:99999", "1.2.3.256", "a%zz"]) expect(await statusOf(`GET /url HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).toBe("400");
});

test("an application's word on its body does not move where the next answer begins", async () => {
  const next = `GET /url HTTP/1.1\r\n${HEAD}\r\n`;
  for (const path of ["/long", "/short"]) {
    const text = await said(raw(`GET ${path} HTTP/1.1\r\n${HEAD}\r\n`, next), /http:\/\/h\/url/);
    // The connection ends: a client sees that the answer is not whole, and takes nothing for another one.
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(text).not.toContain("http://h/url");
  }
  const wrong = await said(raw(`GET /wrong HTTP/1.1\r\n${HEAD}\r\n`, next), /http:\/\/h\/url/);
  expect(wrong.match(/content-length: (\d+)/gi)?.map((line) => line.toLowerCase())).toEqual(["content-length: 5", "content-length: 12"]);
  expect(wrong.match(/x-request-id/gi)).toHaveLength(2);
  expect(wrong).not.toMatch(/chunked|connection: close|: its/i);
  for (const [path, length] of [
    ["/sized", "7"],
    ["/headless", undefined],
  ] as const) {
    const head = await ask(address, path, { method: "HEAD" });
    expect([head.status, head.headers["content-length"]]).toEqual([200, length]);
  }
  expect((await ask(address, "/sized")).headers["content-length"]).toBe("7");
  const upstream = createServer((_request, response) => {
    const body = gzipSync("plain ".repeat(1000));
    response.writeHead(200, { "content-encoding": "gzip", "content-length": body.length, "x-own": "1" }).end(body);
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const from = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`;
  const fetched = await ask(address, `/fetched?from=${encodeURIComponent(from)}`);
  upstream.close();
  expect([fetched.status, fetched.headers["content-encoding"], fetched.headers["x-own"], fetched.body]).toEqual([
    200,
    undefined,
    "1",
    "plain ".repeat(1000),
  ]);
});

test("a piece of a body is its own bytes, and nothing else of the replica's memory", async () => {
  for (const [kind, body] of [
    ["buffer", "abcd"],
    ["words", "abcd"],
    ["view", "bc"],
  ] as const) {
    expect(await ask(address, `/piece?kind=${kind}`)).toMatchObject({ status: 200, body });
    expect(await ask(address, `/piece?kind=${kind}&yielded`)).toMatchObject({ status: 200, body });
  }
  expect((await ask(address, "/piece?kind=object&yielded")).body).toBe('{"a":1}\n');
  // Other values are failures, and nothing has gone out before the first one.
  for (const path of ["/piece?kind=number", "/piece?kind=object", "/piece?yielded"]) expect((await ask(address, path)).status).toBe(500);
});

test("an error that is returned and a body that was read are failures; a response that is thrown is the answer", async () => {
  for (const path of ["/returned", "/read"]) {
    const { status, body } = await ask(address, path);
    expect([path, status, body.includes("secret")]).toEqual([path, 500, false]);
  }
  expect(await ask(address, "/thrown")).toMatchObject({ status: 403, body: "not for you", headers: { "x-own": "1" } });
  expect(await ask(address, "/trailer")).toMatchObject({ status: 200, body: "abc" });
});

test("pipelined requests are answered in their order, and not without end", async () => {
  const requests = ["/wait", "/url?1", "/wait", "/url?2"].map((target) => `GET ${target} HTTP/1.1\r\n${HEAD}\r\n`).join("");
  const answer = await said(raw(requests), /url\?2$/);
  expect(answer.match(/waited|url\?\d/g)).toEqual(["waited", "url?1", "waited", "url?2"]);
  const many = await said(raw(`GET /wait HTTP/1.1\r\n${HEAD}\r\n`.repeat(150)));
  expect(many.match(/HTTP\/1\.1 200/g)).toHaveLength(100);
  expect(many.match(/HTTP\/1\.1 429/g)?.length).toBeGreaterThan(0);
});

test("HEAD of a body without end is answered, its stream ends, and the connection serves on", async () => {
  const answer = await said(raw(`HEAD /large HTTP/1.1\r\n${HEAD}\r\nGET /url?next HTTP/1.1\r\n${HEAD}\r\n`), /url\?next$/);
  expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  await until(async () => (await proxy.checkHealth.remote()).openRequests === 0, "the requests to be over");
});

test("a connection without requests is closed after its time", async () => {
  const answer = await said(raw(`GET / HTTP/1.1\r\n${HEAD}\r\n`));
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
});

test("clients that leave in the middle, up or down, leave nothing behind", async () => {
  const openCount = async (): Promise<number> => (await proxy.checkHealth.remote()).openRequests;
  for (let index = 0; index < 30; index += 1) {
    const up = raw(`POST /length HTTP/1.1\r\n${HEAD}Content-Length: 150000\r\n\r\n`, "x".repeat(70_000));
    const down = raw(`GET /large HTTP/1.1\r\n${HEAD}\r\n`);
    await new Promise<void>((resolve) => down.once("data", () => resolve()));
    up.destroy();
    down.destroy();
  }
  await until(async () => (await openCount()) === 0, "the requests to be over");
  expect(await ask(address, "/url")).toMatchObject({ status: 200 });
});

test("clients that do not read cost the proxy little, hold no place for ever, and others get whole answers", async () => {
  const [found] = (await actors({ namespace: "shoal.serve" })).filter(({ name }) => name?.startsWith("SERVE_PROXY::") === true);
  const memory = (): number => Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${found?.pid}/status`, "utf8"))?.[1]) / 1024;
  const before = memory();
  const sockets = Array.from({ length: 20 }, () => raw(`GET /whole HTTP/1.1\r\n${HEAD}\r\n`));
  await until(async () => (await proxy.checkHealth.remote()).openRequests >= 20, "the answers to begin");
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  // Each holds a window and what lies in a socket; 20 MB each were 400 MB.
  expect(memory() - before).toBeLessThan(80);
  const whole = await ask(address, "/whole");
  expect([whole.status, whole.headers["content-length"], whole.body.length]).toEqual([200, "20000000", 20_000_000]);
  expect((await ask(address, "/text")).body).toBe("y".repeat(2_000_000));
  expect((await ask(address, "/whole", { method: "HEAD" })).headers["content-length"]).toBe("20000000");
  await until(async () => (await proxy.checkHealth.remote()).openRequests === 0, "those that do not read to be cut off");
  expect(sockets).toHaveLength(20);
});

test("a thousand idle connections and slow ones beside them: others are served", async () => {
  const sockets = Array.from({ length: 1_000 }, (_, index) => raw(index % 2 === 0 ? "" : "GET / HT"));
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
  const startMs = performance.now();
  for (let index = 0; index < 20; index += 1) expect((await ask(address, "/url")).status).toBe(200);
  expect(performance.now() - startMs).toBeLessThan(5_000);
  // More than may be connected: those above are cut off at once.
  const above: Socket[] = [];
  await until(() => {
    // The first ones may have been closed meanwhile, as they sent no head in time.
    if (above.length < 2_000) above.push(...Array.from({ length: 100 }, () => raw()));
    return above.some((socket) => socket.destroyed || socket.readableEnded);
  }, "a connection to be refused");
});
