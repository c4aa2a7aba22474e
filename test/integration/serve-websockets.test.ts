/** WebSockets through the `ws` client and Node's own: messages both ways, closes, refusals, back-pressure, limits, and what planned ends look like. */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket as WsClient } from "ws";
import { ask } from "./serve-client.ts";
import { Log, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2 });

let address = "";
let log: Log;

class Chat {
  #file: string;
  constructor(file: string) {
    this.#file = file;
  }
  fetch(): string {
    return "http";
  }
  async websocket(socket: serve.ServerWebSocket, request: Request): Promise<void> {
    const { appendFileSync } = await import("node:fs");
    const url = new URL(request.url);
    request.signal.addEventListener("abort", () => appendFileSync(this.#file, `aborted ${url.pathname}\n`), { once: true });
    switch (url.pathname) {
      case "/echo":
        for await (const message of socket) await socket.send(message);
        appendFileSync(this.#file, "echo ended\n");
        return;
      case "/events":
        socket.addEventListener("message", ({ data }) => void socket.send(`heard ${String(data)}`));
        socket.addEventListener("close", ({ code, reason, wasClean }) =>
          appendFileSync(this.#file, `closed ${code} ${reason} ${wasClean}\n`),
        );
        return;
      case "/clumsy": {
        const never = (): void => void socket.send("a removed listener");
        socket.addEventListener("message", never);
        socket.removeEventListener("message", never);
        socket.addEventListener("error", () => {
          throw new Error("and again");
        });
        socket.addEventListener("error", ({ error }) => void socket.send(`failed: ${(error as Error).message}`));
        socket.addEventListener("message", ({ data }) => {
          if (data === "throws") throw new Error("at once");
        });
        socket.addEventListener("message", async ({ data }) => {
          await Promise.resolve();
          if (data === "rejects") throw new Error("later");
          if (data === "pid") await socket.send(String(process.pid));
        });
        return;
      }
      case "/bye":
        void socket.send("last words");
        socket.close(4001, "enough");
        return;
      case "/protocol":
        socket.accept("v2", { headers: { "x-seat": "7" } });
        await socket.send(`${request.method} ${request instanceof Request} ${request.headers.get("x-mine")}`);
        return;
      case "/gone":
        throw new Response("the room has closed", { status: 410, headers: { "x-room": "12" } });
      case "/large-refusal":
        throw new Response("x".repeat(2_000_000));
      case "/mistaken":
        socket.accept("", { headers: JSON.parse(url.searchParams.get("headers") ?? "") as Record<string, string> });
        return;
      case "/private":
        throw Object.assign(new Error("no token"), { status: 401 });
      case "/throws":
        await socket.send("one");
        throw new Error("secret");
      case "/flood":
        for (let index = 0; ; index += 1) {
          if (socket.readyState !== 1 && index > 0) break;
          await socket.send(new Uint8Array(100_000));
          if (index % 10 === 0) appendFileSync(this.#file, `sent ${index}\n`);
        }
        return;
      case "/slow": {
        let count = 0;
        for await (const _ of socket) {
          count += 1;
          if (count === 1) await new Promise((resolve) => setTimeout(resolve, 500));
        }
        appendFileSync(this.#file, `counted ${count}\n`);
        return;
      }
    }
  }
}
class Plain {
  fetch(): string {
    return "plain";
  }
}
const Base = serve.deployment(Chat, { maxOngoingRequests: 50, actorOptions: { numCpus: 0 } });

beforeAll(async () => {
  log = new Log(folder);
  await serve.start({ httpOptions: { port: 0, maxMessageBytes: 300_000, allowedOrigins: ["https://app.example"] } });
  await serve.run(Base.bind(log.file), { name: "chat", routePrefix: "/chat" });
  await serve.run(serve.deployment(Plain, { actorOptions: { numCpus: 0 } }).bind(), { name: "plain", routePrefix: "/plain" });
  address = (Object.values((await serve.status()).proxies)[0]?.address ?? "").replace("http", "ws");
});
afterAll(() => serve.shutdown());

interface Connected {
  readonly socket: WsClient;
  readonly messages: (string | Buffer)[];
  readonly closed: Promise<[number, string]>;
  /** Headers of the answer to the handshake. */
  readonly headers: IncomingHttpHeaders;
}

async function connect(
  path: string,
  { protocols = [], headers = {} }: { protocols?: string[]; headers?: Record<string, string> } = {},
): Promise<Connected> {
  const socket = new WsClient(`${address}${path}`, protocols, { headers });
  const messages: (string | Buffer)[] = [];
  socket.on("message", (data, isBinary) => messages.push(isBinary ? (data as Buffer) : (data as Buffer).toString()));
  const closed = new Promise<[number, string]>((resolve) => socket.on("close", (code, reason) => resolve([code, reason.toString()])));
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    socket.on("upgrade", (response) => socket.on("open", () => resolve(response)));
    socket.on("error", reject);
  });
  return { socket, messages, closed, headers: answer.headers };
}

const refusalOf = (path: string): Promise<{ status: number; body: string; headers: IncomingHttpHeaders }> =>
  new Promise((resolve, reject) => {
    const socket = new WsClient(`${address}${path}`);
    socket.on("open", () => reject(new Error("it was opened")));
    socket.on("error", () => {});
    socket.on("unexpected-response", (_request, response) => {
      let body = "";
      response.on("data", (piece: Buffer) => (body += piece.toString()));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }));
    });
  });

test("text and bytes go both ways in their order, empty and large ones too", async () => {
  const { socket, messages, closed } = await connect("/chat/echo");
  const large = Buffer.alloc(300_000, 7);
  for (const message of [
    "häl\u2028lo",
    Buffer.from([0, 255]),
    "",
    Buffer.alloc(0),
    large,
    ...Array.from({ length: 500 }, (_, index) => String(index)),
  ])
    socket.send(message);
  await until(() => messages.length === 505, "all messages to come back");
  expect(messages.slice(0, 4)).toEqual(["häl\u2028lo", Buffer.from([0, 255]), "", Buffer.alloc(0)]);
  expect(large.equals(messages[4] as Buffer)).toBe(true);
  expect(messages.slice(5)).toEqual(Array.from({ length: 500 }, (_, index) => String(index)));
  socket.close(4321, "done");
  expect(await closed).toEqual([4321, "done"]);
  await until(() => log.lines.includes("echo ended") && log.lines.includes("aborted /echo"), "the loop to end, and the signal to abort");
});

test("listeners hear messages and the close, through Node's own client", async () => {
  const socket = new WebSocket(`${address}/chat/events`);
  const heard: unknown[] = [];
  socket.addEventListener("message", ({ data }) => heard.push(data));
  await new Promise((resolve) => socket.addEventListener("open", resolve));
  socket.send("a");
  socket.send("b");
  await until(() => heard.length === 2, "two answers");
  expect(heard).toEqual(["heard a", "heard b"]);
  socket.close(3000, "bye");
  await until(() => log.lines.includes("closed 3000 bye true"), "the close to be heard");
  const rude = await connect("/chat/events");
  rude.socket.terminate();
  await until(() => log.lines.includes("closed 1006  false"), "the end without a close to be heard");
});

test("listeners that fail do not end the replica: what they throw, or their promises reject with, is the event error", async () => {
  const { socket, messages, closed } = await connect("/chat/clumsy");
  socket.send("pid");
  socket.send("throws");
  socket.send("rejects");
  await until(() => messages.length === 3, "the events");
  socket.send("pid");
  await until(() => messages.length === 4, "the last answer");
  expect(messages).toEqual([expect.stringMatching(/^\d+$/), "failed: at once", "failed: later", messages[0]]);
  socket.close(1000);
  await closed;
});

test("the program's own close, its end and its failure have their codes", async () => {
  const bye = await connect("/chat/bye");
  expect(await bye.closed).toEqual([4001, "enough"]);
  expect(bye.messages).toEqual(["last words"]);
  const returned = await connect("/chat/protocol", { protocols: ["v1", "v2"], headers: { "x-mine": "yes" } });
  expect([returned.socket.protocol, returned.headers["x-seat"]]).toEqual(["v2", "7"]);
  expect(await returned.closed).toEqual([1000, ""]);
  expect(returned.messages).toEqual(["GET true yes"]);
  const throws = await connect("/chat/throws");
  expect(await throws.closed).toEqual([1011, "internal error"]);
  expect(throws.messages).toEqual(["one"]);
});

test("pages of other origins open no socket where allowedOrigins names those that may", async () => {
  for (const origin of ["https://app.example", address.replace("ws", "http")]) {
    const { socket } = await connect("/chat/echo", { headers: { origin } });
    socket.close();
  }
  for (const headers of [{ origin: "https://evil.example" }, { origin: "null" }, { host: "evil.example" }])
    await expect(connect("/chat/echo", { headers })).rejects.toThrow("403");
});

test("a handshake is refused with a status of HTTP", async () => {
  const refused = await refusalOf("/chat/private");
  expect(refused.status).toBe(401);
  expect(refused.body).not.toContain("token");
  expect(await refusalOf("/chat/gone")).toMatchObject({ status: 410, body: "the room has closed", headers: { "x-room": "12" } });
  expect(await refusalOf("/chat/large-refusal")).toMatchObject({ status: 500 });
  for (const headers of [{ Upgrade: "no" }, { "sec-websocket-protocol": "v1" }, { "x-y": "a\r\nb: c" }])
    expect(await refusalOf(`/chat/mistaken?headers=${encodeURIComponent(JSON.stringify(headers))}`)).toMatchObject({ status: 500 });
  expect(await refusalOf("/nobody")).toMatchObject({ status: 404 });
  expect(await refusalOf("/plain")).toMatchObject({ status: 501 });
  expect(await ask(address.replace("ws", "http"), "/chat")).toMatchObject({ status: 200, body: "http" });
});

test("a message above the limit closes with 1009, and others are served", async () => {
  const { socket, closed } = await connect("/chat/echo");
  socket.send(Buffer.alloc(300_001));
  expect((await closed)[0]).toBe(1009);
  const other = await connect("/chat/echo");
  other.socket.send("still here");
  await until(() => other.messages.length === 1, "an answer");
  other.socket.terminate();
});

test("who does not read holds up the sender, and who floods is held up", async () => {
  const reader = await connect("/chat/flood");
  reader.socket.pause();
  const sentOf = (): number => Number(log.lines.findLast((line) => line.startsWith("sent "))?.slice(5) ?? 0);
  // Until the buffers of sockets and windows are full, and nothing more is sent.
  let before = -1;
  while (before !== sentOf()) {
    before = sentOf();
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
  expect(before).toBeLessThan(300);
  reader.socket.resume();
  await until(() => sentOf() > before + 20, "the sender to go on");
  reader.socket.terminate();
  await until(() => log.lines.includes("aborted /flood"), "the sender to be told");

  const flood = await connect("/chat/slow");
  for (let index = 0; index < 20_000; index += 1) flood.socket.send("");
  flood.socket.close();
  await until(() => log.lines.includes("counted 20000"), "every message to be counted");
});

test("an update closes sockets with 1012, and a deleted application's too", async () => {
  const { closed, socket, messages } = await connect("/chat/echo");
  socket.send("x");
  await until(() => messages.length === 1, "an answer");
  const updated = serve.run(Base.bind(new Log(folder).file), { name: "chat", routePrefix: "/chat" });
  expect(await closed).toEqual([1012, "the service restarts"]);
  await updated;
  const again = await connect("/chat/echo");
  const deleted = serve.delete("chat");
  expect((await again.closed)[0]).toBe(1012);
  await deleted;
});
