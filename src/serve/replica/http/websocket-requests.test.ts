import { expect, test } from "vitest";
import type { LibraryCall } from "../../../core/internal.ts";
import { MESSAGE_BYTES_MAX } from "../../limits.ts";
import type { ResponseHead } from "../../wire/frames.ts";
import type { ServedStream } from "../../wire/request-server.ts";
import { WebSocketRequests } from "./websocket-requests.ts";

/** A client at work on a replica whose method refuses it with a response. */
function refusedWith(response: Response): {
  readonly answer: () => { status: number; body: string } | undefined;
  readonly leave: () => void;
  readonly ended: Promise<boolean>;
} {
  let answer: { status: number; body: string } | undefined;
  const stream = {
    head: { method: "GET", url: "http://h/", requestId: "r", headers: [] },
    cancelled: undefined as string | undefined,
    onCancel: undefined as ((reason: string) => void) | undefined,
    respond: ({ status }: ResponseHead, body: Uint8Array | string) => (answer = { status, body: Buffer.from(body as string).toString() }),
  };
  const call = { signal: new AbortController().signal, cancel: () => {}, run: (body: () => unknown) => body() };
  const refuse = (): never => {
    throw response;
  };
  const requests = new WebSocketRequests({ websocket: refuse, ongoing: () => 1, showsErrors: true, onError: () => {} });
  const ended = new Promise<boolean>((resolve) =>
    requests.serve(stream as unknown as ServedStream, call as unknown as LibraryCall, resolve),
  );
  const leave = (): void => {
    stream.cancelled = "the client is gone";
    stream.onCancel?.("the client is gone");
  };
  return { answer: () => answer, leave, ended };
}

/** Makes a body of equal pieces that records its requests and cancellation. */
function bodyOf(pieces: number, size: number): { body: ReadableStream<Uint8Array>; cancelled: unknown[]; asked: () => number } {
  const cancelled: unknown[] = [];
  let asked = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        asked += 1;
        if (asked > pieces) return new Promise(() => {});
        controller.enqueue(new Uint8Array(size).fill(120));
        return undefined;
      },
      cancel: (reason) => void cancelled.push(reason),
    },
    { highWaterMark: 0 },
  );
  return { body, cancelled, asked: () => asked };
}

test("a response that refuses a WebSocket is its answer, whole, and no failure", async () => {
  const refused = refusedWith(new Response("no room", { status: 410 }));
  expect(await refused.ended).toBe(false);
  expect(refused.answer()).toEqual({ status: 410, body: "no room" });
});

test("a refused client that leaves ends the body of its answer, and the request with it", async () => {
  const { body, cancelled, asked } = bodyOf(1, 10);
  const refused = refusedWith(new Response(body));
  while (asked() < 2) await new Promise((resolve) => setImmediate(resolve));
  refused.leave();
  expect(await refused.ended).toBe(false);
  expect(cancelled).toEqual(["the client is gone"]);
  expect(refused.answer()).toBeUndefined();
});

test("a body above the limit is read no further, and the answer is an error", async () => {
  const size = 2 ** 18;
  const { body, cancelled, asked } = bodyOf(Number.POSITIVE_INFINITY, size);
  const refused = refusedWith(new Response(body));
  expect(await refused.ended).toBe(true);
  expect(asked()).toBe(MESSAGE_BYTES_MAX / size + 1);
  expect(cancelled).toHaveLength(1);
  expect(refused.answer()).toMatchObject({ status: 500, body: expect.stringContaining("Cannot refuse a WebSocket") });
});
