/** Serve at the size that its limits speak of: ten thousand idle connections, bodies of a gigabyte in both directions, floods of WebSockets; the memory of proxy and replica is weighed meanwhile. */
import { readFileSync } from "node:fs";
import { type ClientRequest, get, type IncomingMessage, request as beginRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { Readable, Writable } from "node:stream";
import { actors } from "shoal";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { ask } from "../integration/serve-client.ts";
import { until, useSession } from "../integration/session.ts";

useSession({ numCpus: 2 });

const MIB = 1024 * 1024;
const BODY_BYTES = 1024 * MIB;
const IDLE = 10_000;
const FLOODING = 32;
const FLOOD_MESSAGES = 20_000;

class Limits {
  #received = 0;

  async fetch(request: Request): Promise<unknown> {
    switch (request.url.split("/").at(-1)) {
      case "up": {
        let length = 0;
        for await (const piece of request.body ?? []) length += (piece as Uint8Array).byteLength;
        return String(length);
      }
      case "down": {
        let left = BODY_BYTES;
        const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
          controller.enqueue(new Uint8Array(Math.min(left, 65_536)));
          left -= 65_536;
          if (left <= 0) controller.close();
        };
        return new Response(new ReadableStream({ pull }));
      }
      case "received":
        return String(this.#received);
      default:
        return "ok";
    }
  }

  async websocket(socket: serve.ServerWebSocket): Promise<void> {
    for await (const _message of socket) {
      this.#received += 1;
      // Slower than any client.
      if (this.#received % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

let address = "";
let port = 0;
let proxyPid = 0;
let replicaPid = 0;

beforeAll(async () => {
  await serve.start({ httpOptions: { port: 0 } });
  await serve.run(serve.deployment(Limits, { maxOngoingRequests: 100_000 }).bind());
  address = Object.values((await serve.status()).proxies)[0]?.address ?? "";
  port = Number(new URL(address).port);
  const found = await actors({ namespace: "shoal.serve" });
  proxyPid = found.find(({ name }) => name?.startsWith("SERVE_PROXY::"))?.pid ?? 0;
  replicaPid = found.find(({ name }) => name?.startsWith("SERVE_REPLICA::"))?.pid ?? 0;
  if (proxyPid === 0 || replicaPid === 0)
    throw new Error(`Cannot weigh Serve: there is no proxy or no replica: received ${JSON.stringify(found)}`);
  // Warms up code and buffers that any request needs, as these are not measured.
  for (let index = 0; index < 200; index += 1) await ask(address, "/");
});
afterAll(() => serve.shutdown());

/** Memory of a process that no file is behind. */
function memoryOf(pid: number): number {
  const [, kibibytes = "0"] = /^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kibibytes) * 1024;
}

/** By how much each process had more at most, in MiB, while the work went on; `null` where the work has broken off is an error. */
async function growthDuring(work: () => Promise<void>): Promise<{ proxy: number; replica: number }> {
  const [proxyStart, replicaStart] = [memoryOf(proxyPid), memoryOf(replicaPid)];
  const most = { proxy: 0, replica: 0 };
  const weigh = (): void => {
    most.proxy = Math.max(most.proxy, Math.round((memoryOf(proxyPid) - proxyStart) / MIB));
    most.replica = Math.max(most.replica, Math.round((memoryOf(replicaPid) - replicaStart) / MIB));
  };
  const timer = setInterval(weigh, 50);
  try {
    await work();
    weigh();
  } finally {
    clearInterval(timer);
  }
  return most;
}

async function othersAreServed(): Promise<void> {
  for (let index = 0; index < 20; index += 1) expect(await ask(address, "/")).toMatchObject({ status: 200, body: "ok" });
}

test("ten thousand idle connections cost some ten kilobytes each, and others are served", async () => {
  const sockets: Socket[] = [];
  const texts = ["", "GET / HT", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"];
  const growth = await growthDuring(async () => {
    while (sockets.length < IDLE) {
      const opened = Array.from({ length: 500 }, (_, index) => {
        const socket = connect(port, "127.0.0.1");
        const text = texts[index % texts.length] as string;
        const isReady = new Promise<void>((resolve, reject) => {
          socket.once("error", reject).once("connect", () => {
            socket.write(text);
            // The third kind has had an answer and is kept alive.
            if (!text.endsWith("\r\n\r\n")) resolve();
          });
          socket.once("data", () => resolve());
        });
        sockets.push(socket);
        return isReady;
      });
      await Promise.all(opened);
    }
    await othersAreServed();
  });
  expect(sockets.filter(({ destroyed }) => destroyed)).toEqual([]);
  console.log(`${IDLE} idle connections: the proxy had ${growth.proxy} MiB more, the replica ${growth.replica}`);
  expect(growth.proxy).toBeLessThan(200);
  expect(growth.replica).toBeLessThan(50);
  for (const socket of sockets) socket.destroy();
  await othersAreServed();
});

test("a gigabyte goes up and another comes down, and nobody holds more than a window of it", async () => {
  const sent = beginRequest(`${address}/up`, { method: "POST" });
  const piece = Buffer.alloc(65_536);
  let left = BODY_BYTES / piece.byteLength;
  const up = await growthDuring(async () => {
    const body = new Readable({ read: () => void body.push(left-- > 0 ? piece : null) });
    const [answer] = await Promise.all([answerOf(sent), pipeline(body, sent)]);
    const pieces = await answer.toArray();
    expect(Buffer.concat(pieces as Buffer[]).toString()).toBe(String(BODY_BYTES));
  });
  let received = 0;
  const down = await growthDuring(async () => {
    const answer = await answerOf(get(`${address}/down`));
    const sink = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        received += chunk.byteLength;
        done();
      },
    });
    await pipeline(answer, sink);
  });
  expect(received).toBe(BODY_BYTES);
  console.log(`1 GiB up: the proxy had ${up.proxy} MiB more, the replica ${up.replica}; down: ${down.proxy} and ${down.replica}`);
  for (const most of [up.proxy, up.replica, down.proxy, down.replica]) expect(most).toBeLessThan(150);
});

test("WebSockets that flood a slow replica are held up, and others are served", async () => {
  const sockets = Array.from({ length: FLOODING }, () => new WebSocket(`${address.replace("http", "ws")}/socket`));
  const growth = await growthDuring(async () => {
    await Promise.all(sockets.map((socket) => new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject))));
    const message = "x".repeat(1024);
    for (const socket of sockets) for (let index = 0; index < FLOOD_MESSAGES; index += 1) socket.send(message);
    await othersAreServed();
    const isRead = async (): Promise<boolean> => Number((await ask(address, "/received")).body) > FLOOD_MESSAGES;
    await until(isRead, "a part of the flood to be read");
  });
  console.log(
    `${(FLOODING * FLOOD_MESSAGES) / 1024} MiB by ${FLOODING} WebSockets: the proxy had ${growth.proxy} MiB more, the replica ${growth.replica}`,
  );
  expect(growth.proxy).toBeLessThan(150);
  expect(growth.replica).toBeLessThan(150);
  for (const socket of sockets) socket.terminate();
  await othersAreServed();
});

function answerOf(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => sent.once("response", resolve).once("error", reject));
}
