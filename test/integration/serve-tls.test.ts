/** HTTPS and HTTP/2 through Node's own clients and curl: requests, answers, WebSockets beside them, and connections that flood. */
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, type IncomingHttpHeaders } from "node:http2";
import { get } from "node:https";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { serialize } from "node:v8";
import * as serve from "shoal/serve";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { NodeId } from "../../src/runtime/base/ids.ts";
import { type Authority, certifyNode, newAuthority, newNodeKey } from "../../src/runtime/os/network/certificates.ts";
import { ask } from "./serve-client.ts";
import { until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2 });

let address = "";
let metrics: () => Promise<string>;
let ca = "";
let authority: Authority;
const keyFile = join(folder, "key.pem");
const certFile = join(folder, "cert.pem");
const sessions = new Set<ClientHttp2Session>();
/** Types of frames (RFC 9113, section 6). */
const FRAME = { headers: 0x1, rstStream: 0x3, settings: 0x4, ping: 0x6, goaway: 0x7 };

class Echo {
  async fetch(request: Request): Promise<unknown> {
    const [path] = request.url.slice(request.url.indexOf("/", 8)).split("?");
    switch (path) {
      case "/request":
        return { url: request.url, method: request.method, headers: [...request.headers], body: await request.text() };
      case "/length": {
        let length = 0;
        for await (const piece of request.body ?? []) length += (piece as Uint8Array).byteLength;
        return String(length);
      }
      case "/stream":
        return new Response(ReadableStream.from([new Uint8Array([97]), new Uint8Array(200_000).fill(98)]), {
          headers: [
            ["set-cookie", "a=1"],
            ["set-cookie", "b=2"],
            ["connection", "keep-alive"],
          ],
        });
      case "/never":
        if (!request.signal.aborted) await new Promise((resolve) => request.signal.addEventListener("abort", resolve, { once: true }));
        return "gone";
      case "/empty":
        return new Response(null, { status: 204 });
      default:
        return "ok";
    }
  }
  async websocket(socket: serve.ServerWebSocket): Promise<void> {
    for await (const message of socket) await socket.send(message);
  }
  /** Only handles call it. */
  transfer(...given: unknown[]): unknown {
    writeFileSync(join(folder, "transferred"), JSON.stringify(given));
    return { transferred: given };
  }
}

function certificate(of: Authority): { cert: string; key: string } {
  const { key, publicKey } = newNodeKey();
  const cert = certifyNode(of, { nodeId: "0".repeat(32) as NodeId, publicKey, hosts: ["localhost"], nowMs: Date.now() });
  return { cert, key };
}

/** @returns the certificate as a client sees it */
function writeCertificate(): string {
  const { cert, key } = certificate(authority);
  writeFileSync(keyFile, key);
  writeFileSync(certFile, cert);
  return cert.replaceAll(/-----.*-----|\s/g, "");
}

beforeAll(async () => {
  authority = newAuthority({ nowMs: Date.now() });
  ({ ca } = authority);
  writeFileSync(join(folder, "ca.pem"), ca);
  writeCertificate();
  const httpOptions = {
    port: 0,
    tls: { key: keyFile, cert: certFile },
    maxBodyBytes: 1_000_000,
    maxHeaderBytes: 4096,
    keepAliveTimeoutMs: 700,
  };
  const started = await serve.start({ httpOptions, apiOptions: { port: 0 } });
  const { address: api = "", token = "" } = started.api ?? {};
  metrics = async () => (await ask(api, "/metrics", { headers: { authorization: `Bearer ${token}` } })).body;
  await serve.run(serve.deployment(Echo, { maxOngoingRequests: 1_000 }).bind());
  address = (Object.values((await serve.status()).proxies)[0]?.address ?? "").replace("127.0.0.1", "localhost");
});
afterAll(() => serve.shutdown());
afterEach(() => {
  for (const session of sessions) session.destroy();
  sessions.clear();
});

function open(): ClientHttp2Session {
  const session = connect(address, { ca });
  sessions.add(session);
  session.on("error", () => {});
  return session;
}

/** Frames of HTTP/2 as they are, for what Node's client does not send: it drops streams that are reset before they went out, and at times never hears that it was cut off. */
class RawClient {
  /** The code with which the server ended the connection. */
  goaway: number | undefined;
  readonly closed: Promise<void>;
  readonly #socket: TLSSocket;
  readonly #authority: string;
  #received = Buffer.alloc(0);
  #nextStreamId = 1;
  #pong: () => void = () => {};

  constructor(url: string) {
    const { host, hostname, port } = new URL(url);
    this.#authority = host;
    this.#socket = connectTls({ host: hostname, port: Number(port), ca, ALPNProtocols: ["h2"] });
    this.#socket.on("error", () => {});
    this.closed = new Promise((resolve) => this.#socket.on("close", () => resolve()));
    this.#socket.on("data", (piece: Buffer) => this.#read(piece));
    this.#socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    this.#send(FRAME.settings, 0, 0, Buffer.alloc(0));
  }

  openAndReset(path: string): void {
    const literal = (nameIndex: number, value: string): number[] => [nameIndex, value.length, ...Buffer.from(value)];
    // GET and https by their indices in HPACK's table, `:path` and `:authority` spelled out.
    const head = [0x82, 0x87, ...literal(4, path), ...literal(1, this.#authority)];
    const endOfStreamAndHeaders = 0x5;
    this.#send(FRAME.headers, endOfStreamAndHeaders, this.#nextStreamId, Buffer.from(head));
    this.#send(FRAME.rstStream, 0, this.#nextStreamId, Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL]));
    this.#nextStreamId += 2;
  }

  /** Fulfilled once the server has read all that was sent, or has ended the connection. */
  ping(): Promise<void> {
    const pong = new Promise<void>((resolve) => (this.#pong = resolve));
    this.#send(FRAME.ping, 0, 0, Buffer.alloc(8));
    return Promise.race([pong, this.closed]);
  }

  #send(type: number, flags: number, streamId: number, body: Buffer): void {
    const head = Buffer.alloc(9);
    head.writeUIntBE(body.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(streamId, 5);
    if (this.#socket.writable) this.#socket.write(Buffer.concat([head, body]));
  }

  #read(piece: Buffer): void {
    this.#received = Buffer.concat([this.#received, piece]);
    while (this.#received.length >= 9) {
      const end = 9 + this.#received.readUIntBE(0, 3);
      if (this.#received.length < end) return;
      const [type, flags] = [this.#received[3], this.#received[4]];
      if (type === FRAME.goaway) this.goaway ??= this.#received.readUInt32BE(13);
      if (type === FRAME.ping && flags === 1) this.#pong();
      this.#received = this.#received.subarray(end);
    }
  }
}

interface Answer {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function answered(stream: ClientHttp2Stream): Promise<Answer> {
  const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
  const pieces: Buffer[] = [];
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece);
  return { headers, body: Buffer.concat(pieces).toString() };
}

test("an answer of HTTP/2 is that of HTTP/1.1: method, target, host, headers, cookies, bodies", async () => {
  const session = open();
  const stream = session.request({ ":method": "POST", ":path": "/request?x=1", "x-a": "1", cookie: ["a=1", "b=2"] });
  stream.end("body");
  const { headers, body } = await answered(stream);
  expect(headers).toMatchObject({ ":status": 200, "content-type": "application/json", "x-request-id": expect.any(String) });
  const seen = JSON.parse(body) as { url: string; method: string; headers: [string, string][]; body: string };
  expect(seen).toMatchObject({ url: `${address}/request?x=1`, method: "POST", body: "body" });
  expect(Object.fromEntries(seen.headers)).toMatchObject({ host: new URL(address).host, "x-a": "1", cookie: "a=1; b=2" });
  expect((await answered(session.request({ ":path": "/empty" }))).headers).toMatchObject({ ":status": 204 });
  expect(await answered(session.request({ ":path": "/request", ":method": "HEAD" }))).toMatchObject({ body: "" });
  expect((await answered(session.request({ ":path": "/-/healthz" }))).body).toBe("success");
});

test("streams go both ways, repeated headers stay, those of connections go", async () => {
  const session = open();
  const { headers, body } = await answered(session.request({ ":path": "/stream" }));
  expect(headers["set-cookie"]).toEqual(["a=1", "b=2"]);
  expect(headers["connection"]).toBeUndefined();
  expect(body).toHaveLength(200_001);
  const upload = session.request({ ":method": "POST", ":path": "/length" });
  for (let index = 0; index < 8; index += 1) upload.write(Buffer.alloc(100_000));
  upload.end();
  expect((await answered(upload)).body).toBe("800000");
});

test("a method that HTTP does not have reaches no method of the ingress, and holds no place", async () => {
  const session = open();
  const call = async (method: string, path: string, body?: Buffer): Promise<Answer> => {
    const stream = session.request({ ":method": method, ":authority": "localhost", ":path": path }, { endStream: body === undefined });
    if (body !== undefined) stream.end(body);
    return answered(stream);
  };
  for (const method of ["GRPC", "WEBSOCKET", "SOCKET", "REQUEST", "get", "Post", "TRACE", "X".repeat(200)])
    for (const body of [undefined, serialize({ amount: 1 }), Buffer.alloc(100_000)]) {
      const { headers } = await call(method, "/,transfer", body);
      expect([method, headers[":status"]]).toEqual([method, 501]);
    }
  expect(existsSync(join(folder, "transferred"))).toBe(false);
  const ongoing = /serve_replica_processing_queries\{[^}]*\} (\d+)/.exec(await metrics())?.[1];
  expect(ongoing ?? "0").toBe("0");
  expect((await call("QUERY", "/", Buffer.from("q"))).body).toBe("ok");
});

test("what may not be is refused, and the connection goes on", async () => {
  const session = open();
  const large = session.request({ ":method": "POST", ":path": "/length", "content-length": 2_000_000 });
  expect((await answered(large)).headers[":status"]).toBe(413);
  const streamed = session.request({ ":method": "POST", ":path": "/length" });
  streamed.on("error", () => {});
  const answer = once(streamed, "response") as Promise<[IncomingHttpHeaders]>;
  for (let index = 0; index < 20; index += 1) streamed.write(Buffer.alloc(100_000));
  expect((await answer)[0][":status"]).toBe(413);
  const hosts = session.request({ ":path": "/", ":authority": "a", host: "b" });
  expect((await answered(hosts)).headers[":status"]).toBe(400);
  const head = session.request({ ":path": "/", "x-large": "x".repeat(8_000) });
  head.on("error", () => {});
  await new Promise((resolve) => head.on("close", resolve));
  expect(head.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  expect((await answered(session.request({ ":path": "/" }))).body).toBe("ok");
});

test("a client that resets a stream ends its work", async () => {
  const session = open();
  const ongoing = async (): Promise<string | undefined> => /serve_replica_processing_queries\{[^}]*\} (\d+)/.exec(await metrics())?.[1];
  const stream = session.request({ ":path": "/never" });
  stream.on("error", () => {});
  await until(async () => (await ongoing()) === "1", "the request to run");
  stream.close(constants.NGHTTP2_CANCEL);
  await until(async () => (await ongoing()) === "0", "the request to end");
});

test("a client that breaks off its streams without end is cut off; others are served", async () => {
  const client = new RawClient(address);
  let openedCount = 0;
  while (client.goaway === undefined && openedCount < 400) {
    for (let index = 0; index < 20; index += 1, openedCount += 1) client.openAndReset("/never");
    await client.ping();
  }
  expect(client.goaway).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  expect(openedCount).toBeGreaterThan(200);
  await client.closed;
  expect((await answered(open().request({ ":path": "/" }))).body).toBe("ok");
});

test("no more streams at a time than allowed, and a connection without any is closed", async () => {
  const session = open();
  const [settings] = (await once(session, "remoteSettings")) as [{ maxConcurrentStreams: number; enablePush: boolean }];
  expect(settings.maxConcurrentStreams).toBe(100);
  await once(session, "close");
});

test("HTTP/1.1 and WebSockets go over the same port", async () => {
  const body = await new Promise<string>((resolve, reject) => {
    get(`${address}/request`, { ca }, (response) => {
      let text = "";
      response.on("data", (piece: Buffer) => (text += piece.toString()));
      response.on("end", () => resolve(text));
    }).on("error", reject);
  });
  expect(JSON.parse(body)).toMatchObject({ url: `${address}/request` });
  const socket = new WebSocket(address.replace("https", "wss"), { ca });
  await once(socket, "open");
  socket.send("hello");
  const [message] = (await once(socket, "message")) as [Buffer];
  expect(message.toString()).toBe("hello");
  socket.close();
});

test.runIf(hasCurl())("curl speaks HTTP/2 with it", async () => {
  const { stdout } = await promisify(execFile)("curl", [
    "--silent",
    "--http2",
    "--cacert",
    join(folder, "ca.pem"),
    "--data-binary",
    "x".repeat(1000),
    "--write-out",
    " %{http_version} %{response_code}",
    `${address}/length`,
  ]);
  expect(stdout).toBe("1000 2 200");
});

test("renewed files are used without a restart; a key without its certificate is not", async () => {
  const shown = (): Promise<string> =>
    new Promise((resolve, reject) => {
      get(`${address}/`, { ca, agent: false }, (response) => {
        resolve((response.socket as TLSSocket).getPeerCertificate().raw.toString("base64"));
        response.resume();
      }).on("error", reject);
    });
  writeFileSync(keyFile, certificate(authority).key);
  const before = await shown();
  const renewed = writeCertificate();
  expect(before).not.toBe(renewed);
  await until(async () => (await shown()) === renewed, "the renewed certificate to be used");
});

test("options that do not fit are refused by name, without the key", async () => {
  const start = (tls: object): Promise<unknown> => serve.start({ httpOptions: { port: 0, tls: tls as never } });
  await expect(start({ key: "k" })).rejects.toThrow(/cert is missing/);
  await expect(start({ ssl_keyfile: "k" })).rejects.toThrow(/it is key/);
  await expect(start({ key: 1, cert: "c" })).rejects.toThrow(/key of httpOptions.tls: PEM text, or the path/);
});

test("with authorities of clients, only those with a certificate get a connection", async () => {
  const sinceMs = performance.now();
  await serve.shutdown();
  // The proxy would wait for five seconds for a connection that a refused body has left unread.
  expect(performance.now() - sinceMs).toBeLessThan(4_000);
  const clients = newAuthority({ nowMs: Date.now() });
  const mine = certificate(authority);
  const { address: listening = "" } = await serve.start({ httpOptions: { port: 0, tls: { ...mine, ca: clients.ca } } });
  await serve.run(serve.deployment(Echo).bind());
  address = listening.replace("127.0.0.1", "localhost");
  const outcome = async (shown: { cert?: string; key?: string }): Promise<string> => {
    const session = connect(address, { ca, ...shown });
    sessions.add(session);
    session.on("error", () => {});
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => {});
    let body = "";
    stream.on("data", (piece: Buffer) => (body += piece.toString()));
    await new Promise((resolve) => stream.on("close", resolve));
    return body === "" ? "no connection" : body;
  };
  expect(await outcome(certificate(clients))).toBe("ok");
  expect(await outcome({})).toBe("no connection");
  expect(await outcome(certificate(newAuthority({ nowMs: Date.now() })))).toBe("no connection");
});

function hasCurl(): boolean {
  const { stdout, error } = spawnSync("curl", ["--version"], { encoding: "utf8" });
  return error === undefined && stdout.includes("nghttp2");
}
