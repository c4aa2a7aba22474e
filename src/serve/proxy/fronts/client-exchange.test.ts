/** The body of a request as it goes on, and the body of an answer that the client does not want, without a socket. */
import { PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { BodyReceiver } from "../../wire/body-receiver.ts";
import { AllowedHosts } from "../options/allowed-hosts.ts";
import { ClientExchange, type HttpPorts } from "./client-exchange.ts";
import type { Exchange, IncomingRequest, ReplyPort } from "../exchange.ts";
import { clientLimits, type HttpOptions, resolveHttpOptions } from "../options/http-options.ts";
import { readHeaders } from "./request-headers.ts";
import { SlowClients } from "./slow-clients.ts";

afterEach(() => vi.useRealTimers());

/** Notes what its client would see. */
class NotedExchange extends ClientExchange {
  protected readonly source = new PassThrough();
  protected readonly sink = new PassThrough();
  readonly seen: string[] = [];
  protected readonly isRead = false;
  protected readonly isWhole = true;
  protected readonly isDelivered = true;
  readonly isQueued = false;
  readonly connection = {};

  request(method: string, headers: string[]): PassThrough {
    this.begin({ method, target: "/", read: readHeaders(headers), client: "", isCrowded: false });
    return this.source;
  }
  protected writeHead({ status }: { status: number }): void {
    this.seen.push(`head ${status}`);
  }
  protected writeContinue(): void {}
  protected flushHead(): void {}
  protected end(): void {
    this.seen.push("end");
  }
  protected endRefusal(status: number): void {
    this.seen.push(`refused ${status}`);
  }
  protected breakOff(): void {
    this.seen.push("broken off");
  }
}

/** @param started called with the request, once a replica has it */
function exchanged(
  started: (request: IncomingRequest, reply: ReplyPort) => void,
  http: HttpOptions = { bodyTimeoutMs: 4_000 },
): {
  exchange: NotedExchange;
  cancelled: string[];
  clients: SlowClients;
} {
  const cancelled: string[] = [];
  const begin = (request: IncomingRequest, reply: ReplyPort): Exchange =>
    ({ start: () => started(request, reply), cancel: (reason: string) => cancelled.push(reason) }) as unknown as Exchange;
  const options = resolveHttpOptions(http);
  const clients = new SlowClients(() => false);
  const ports: HttpPorts = {
    route: () => ({ prefix: "/", isStripped: false, rest: "/", app: "app", begin }),
    routes: () => ({}),
    hosts: new AllowedHosts("0.0.0.0", undefined),
    isDraining: () => false,
    clients,
    limits: clientLimits(options),
    served: () => {},
  };
  return { exchange: new NotedExchange(options, ports), cancelled, clients };
}

/** A client that sends its body in pieces, and the replica that reads them. */
async function uploading(): Promise<{ pieces: AsyncIterator<Uint8Array>; client: PassThrough } & ReturnType<typeof exchanged>> {
  const { promise, resolve } = Promise.withResolvers<AsyncIterator<Uint8Array>>();
  const made = exchanged(({ body }) => resolve((body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()));
  const client = made.exchange.request("POST", ["host", "h", "transfer-encoding", "chunked"]);
  return { ...made, client, pieces: await promise };
}

test("a replica that takes its time for a piece is no pause of the client; a client that pauses is refused", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const { pieces, client, exchange, cancelled, clients } = await uploading();
  const pass = (fromMs: number, toMs: number): void => {
    for (let nowMs = fromMs; nowMs <= toMs; nowMs += 1_000) clients.step(nowMs);
  };
  for (const text of ["one", "two"]) {
    client.write(text);
    expect(await pieces.next()).toEqual({ done: false, value: Buffer.from(text) });
    pass(0, 8_000);
  }
  expect([exchange.seen, cancelled]).toEqual([[], []]);
  void pieces.next();
  pass(10_000, 13_000);
  expect(exchange.seen).toEqual([]);
  pass(14_000, 14_000);
  expect([exchange.seen, cancelled]).toEqual([["refused 408"], ["the client was too slow with its body"]]);
});

test("a client that sends a byte now and then is refused as one that pauses; one that sends enough is not", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  for (const [size, seen] of [
    [1, ["refused 408"]],
    [300, []],
  ] as const) {
    const { pieces, client, exchange, clients } = await uploading();
    let next = pieces.next();
    for (let nowMs = 0; nowMs <= 12_000 && exchange.seen.length === 0; nowMs += 1_000) {
      clients.step(nowMs);
      if (exchange.seen.length > 0) break;
      client.write(Buffer.alloc(size));
      await next;
      next = pieces.next();
      // The reader asks for a piece in a later turn.
      await new Promise(setImmediate);
    }
    expect(exchange.seen).toEqual(seen);
  }
});

test("HEAD of a stream ends with its head, and the stream is cancelled", () => {
  const { exchange, cancelled } = exchanged((_request, reply) =>
    reply.respond({ status: 200, statusText: "", ongoing: 1, headers: [] }, new BodyReceiver(() => {})),
  );
  exchange.request("HEAD", ["host", "h"]);
  expect([exchange.seen, cancelled]).toEqual([["head 200", "end"], ["the client wants no body"]]);
});

test.each([
  [{}, 600_000, 0],
  [{ requestTimeoutMs: 5_000 }, 5_000, 5_000],
])("an answer that has not begun in time is refused, and one that has begun goes on: %o", (http, limitMs, toldMs) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const told: number[] = [];
  const late = exchanged(({ head }) => void told.push(head.timeoutMs), http);
  const streams = exchanged(
    (_request, reply) => reply.respond({ status: 200, statusText: "", ongoing: 0, headers: [] }, new BodyReceiver(() => {})),
    http,
  );
  for (const { exchange } of [late, streams]) exchange.request("GET", ["host", "h"]);
  vi.advanceTimersByTime(limitMs - 1);
  expect(late.exchange.seen).toEqual([]);
  vi.advanceTimersByTime(1_000_000);
  expect([late.exchange.seen, late.cancelled]).toEqual([["refused 504"], ["the time for the request is over"]]);
  expect([streams.exchange.seen, streams.cancelled]).toEqual([["head 200"], []]);
  // A request's own calls have a deadline only where a limit was set.
  expect(told).toEqual([toldMs]);
});

test("Infinity takes the limit on the time of an answer away", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { exchange } = exchanged(() => {}, { requestTimeoutMs: Number.POSITIVE_INFINITY });
  exchange.request("GET", ["host", "h"]);
  vi.advanceTimersByTime(2 ** 31 - 1);
  expect(exchange.seen).toEqual([]);
});
