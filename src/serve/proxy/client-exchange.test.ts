/** The body of a request as it goes on, and the body of an answer that the client does not want, without a socket. */
import { PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { BodyReceiver } from "../wire/body-receiver.ts";
import { AllowedHosts } from "./allowed-hosts.ts";
import { AnswersUnderWay } from "./answers-under-way.ts";
import { ClientExchange, type HttpPorts } from "./client-exchange.ts";
import type { Exchange, IncomingRequest, ReplyPort } from "./exchange.ts";
import { resolveHttpOptions } from "./http-options.ts";
import { readHeaders } from "./request-headers.ts";

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
function exchanged(started: (request: IncomingRequest, reply: ReplyPort) => void): { exchange: NotedExchange; cancelled: string[] } {
  const cancelled: string[] = [];
  const begin = (request: IncomingRequest, reply: ReplyPort): Exchange =>
    ({ start: () => started(request, reply), cancel: (reason: string) => cancelled.push(reason) }) as unknown as Exchange;
  const ports: HttpPorts = {
    route: () => ({ prefix: "/", rest: "/", app: "app", begin }),
    routes: () => ({}),
    hosts: new AllowedHosts("0.0.0.0", undefined),
    isDraining: () => false,
    answers: new AnswersUnderWay({ pauseMs: 60_000, leastBytes: 1 }),
    served: () => {},
  };
  return { exchange: new NotedExchange(resolveHttpOptions({ bodyTimeoutMs: 1_000 }), ports), cancelled };
}

test("a replica that takes its time for a piece is no pause of the client; a client that pauses is refused", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { promise, resolve } = Promise.withResolvers<AsyncIterator<Uint8Array>>();
  const { exchange, cancelled } = exchanged(({ body }) => resolve((body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()));
  const client = exchange.request("POST", ["host", "h", "transfer-encoding", "chunked"]);
  const pieces = await promise;
  client.write("one");
  expect(await pieces.next()).toEqual({ done: false, value: Buffer.from("one") });
  vi.advanceTimersByTime(5_000);
  client.write("two");
  expect(await pieces.next()).toEqual({ done: false, value: Buffer.from("two") });
  vi.advanceTimersByTime(5_000);
  expect([exchange.seen, cancelled]).toEqual([[], []]);
  void pieces.next();
  vi.advanceTimersByTime(900);
  expect(exchange.seen).toEqual([]);
  vi.advanceTimersByTime(100);
  expect([exchange.seen, cancelled]).toEqual([["refused 408"], ["the client paused in the middle of its body"]]);
});

test("a client that sends a byte now and then is refused as one that pauses; one that sends enough is not", async () => {
  for (const [size, isRefused] of [
    [1, true],
    [100, false],
  ] as const) {
    const { promise, resolve } = Promise.withResolvers<AsyncIterator<Uint8Array>>();
    const { exchange } = exchanged(({ body }) => resolve((body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()));
    const client = exchange.request("POST", ["host", "h", "transfer-encoding", "chunked"]);
    const pieces = await promise;
    const beginMs = performance.now();
    const sending = setInterval(() => client.write(Buffer.alloc(size)), 100);
    while (exchange.seen.length === 0 && performance.now() - beginMs < 2_500)
      await Promise.race([pieces.next(), new Promise((next) => setTimeout(next, 300))]);
    clearInterval(sending);
    expect(exchange.seen).toEqual(isRefused ? ["refused 408"] : []);
  }
});

test("HEAD of a stream ends with its head, and the stream is cancelled", () => {
  const { exchange, cancelled } = exchanged((_request, reply) =>
    reply.respond({ status: 200, statusText: "", ongoing: 1, headers: [] }, new BodyReceiver(() => {})),
  );
  exchange.request("HEAD", ["host", "h"]);
  expect([exchange.seen, cancelled]).toEqual([["head 200", "end"], ["the client wants no body"]]);
});
