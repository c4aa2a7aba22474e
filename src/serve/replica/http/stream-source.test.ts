import { afterAll, beforeAll, expect, test } from "vitest";
import type { LibraryCall } from "../../../core/internal.ts";
import { TaskContext, taskContext } from "../../../runtime/worker/tasks/task-context.ts";
import type { ServedStream } from "../../wire/request-server.ts";
import { HttpRequests } from "./http-requests.ts";
import { contextData, currentRequest } from "../context/request-context.ts";
import { sourceOf, useStreamSources } from "./stream-source.ts";

const from = ReadableStream.from;
beforeAll(useStreamSources);
afterAll(() => {
  ReadableStream.from = from;
});

test("streams of what is iterable asynchronously have a source, and read as before", async () => {
  let asked = 0;
  const letters = {
    async *[Symbol.asyncIterator]() {
      asked += 1;
      yield "a";
      yield "b";
    },
  };
  const stream = ReadableStream.from(letters);
  expect(sourceOf(stream)).toBeDefined();
  expect([await all(stream), asked]).toEqual([["a", "b"], 1]);
  const plain = ReadableStream.from(["a"]);
  expect([sourceOf(plain), sourceOf(new ReadableStream())]).toEqual([undefined, undefined]);
  expect(await all(plain)).toEqual(["a"]);
  expect(() => ReadableStream.from(1 as never)).toThrow(TypeError);
});

async function all(stream: ReadableStream): Promise<unknown[]> {
  const items: unknown[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

/** Makes a stream of the wire that records sent pieces; `cancel` acts as its client. */
function served(): { stream: ServedStream; sent: string[]; cancel: () => void } {
  const sent: string[] = [];
  const stream = {
    head: { method: "GET", url: "http://h/", requestId: "1", timeoutMs: 0, modelId: "", client: "", headers: [] },
    body: new Uint8Array(0),
    cancelled: undefined as string | undefined,
    onCancel: undefined as ((reason: string) => void) | undefined,
    begin: () => sent.push("head"),
    write: (bytes: Uint8Array) => stream.cancelled === undefined && sent.push(Buffer.from(bytes).toString()) > 0,
    end: () => sent.push("end"),
    abort: (reason: string) => sent.push(reason),
    respond: ({ status }: { status: number }) => sent.push(`whole ${status}`),
  };
  const cancel = (): void => {
    stream.cancelled = "the client is gone";
    stream.onCancel?.(stream.cancelled);
  };
  return { stream: stream as unknown as ServedStream, sent, cancel };
}

/** @returns resolves with whether user code failed, once the request is over */
function serve(stream: ServedStream, answer: () => unknown): Promise<boolean> {
  const requests = new HttpRequests({ fetch: answer, ongoing: () => 1, showsErrors: false, onError: () => {} });
  const call: LibraryCall = { signal: new AbortController().signal, cancel: () => {}, run: (body) => body() };
  return new Promise((resolve) => requests.serve(stream, call, resolve));
}

test("a body of a generator is sent piece by piece, and its end and its failure are told", async () => {
  const pieces = async function* (isFailing: boolean): AsyncGenerator<Uint8Array> {
    yield Buffer.from("a");
    yield Buffer.from("b");
    if (isFailing) throw new Error("no more");
  };
  const [whole, broken] = [served(), served()];
  expect(await serve(whole.stream, () => new Response(ReadableStream.from(pieces(false))))).toBe(false);
  expect(whole.sent).toEqual(["head", "a", "b", "end"]);
  expect(await serve(broken.stream, () => new Response(ReadableStream.from(pieces(true))))).toBe(true);
  expect(broken.sent).toEqual(["head", "a", "b", "the response's body failed"]);
});

test("a body that somebody has begun to read goes on behind what was read", async () => {
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    for (const letter of "abc") yield Buffer.from(letter);
  };
  const response = new Response(ReadableStream.from(pieces()));
  const reader = (response.body as ReadableStream).getReader();
  await reader.read();
  reader.releaseLock();
  const { stream, sent } = served();
  await serve(stream, () => response);
  expect(sent).toEqual(["head", "b", "c", "end"]);
});

test("a client that goes ends the generator, and the request though the generator is in the middle of a step", async () => {
  const ended = Promise.withResolvers<void>();
  const step = Promise.withResolvers<void>();
  const waits = Promise.withResolvers<void>();
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield Buffer.from("a");
      waits.resolve();
      await step.promise;
      yield Buffer.from("b");
    } finally {
      ended.resolve();
    }
  };
  const { stream, sent, cancel } = served();
  const over = serve(stream, () => new Response(ReadableStream.from(pieces())));
  await waits.promise;
  cancel();
  expect(await over).toBe(false);
  step.resolve();
  await ended.promise;
  expect(sent).toEqual(["head", "a"]);
});

/** A body, whose pieces may be text at run time. */
function bytesOf(items: AsyncIterable<unknown>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return ReadableStream.from(items) as ReadableStream<Uint8Array<ArrayBuffer>>;
}

// oxlint-disable-next-line require-yield -- it fails before its first value
const failing = async function* (ready: Promise<void>): AsyncGenerator<string> {
  await ready;
  throw new RangeError("no such model");
};

test("a generator that fails before its first value is a 500, also where a Response holds it and it fails at once", async () => {
  const [own, later, held] = [served(), served(), served()];
  expect(await serve(own.stream, () => failing(Promise.resolve()))).toBe(true);
  const ready = Promise.withResolvers<void>();
  const over = serve(later.stream, () => failing(ready.promise));
  await new Promise((resolve) => setImmediate(resolve));
  expect(later.sent).toEqual([]);
  ready.resolve();
  expect(await over).toBe(true);
  const events = { headers: { "content-type": "text/event-stream" } };
  expect(await serve(held.stream, () => new Response(bytesOf(failing(Promise.resolve())), events))).toBe(true);
  expect([own.sent, later.sent, held.sent]).toEqual([["whole 500"], ["whole 500"], ["whole 500"]]);
});

test("a generator without a value has an empty body, and one that waits holds back its head; a Response's head goes out before its first piece", async () => {
  const [empty, waiting, chosen] = [served(), served(), served()];
  expect(await serve(empty.stream, async function* () {})).toBe(false);
  expect(empty.sent).toEqual(["head", "end"]);
  const never = async function* (): AsyncGenerator<string> {
    await new Promise(() => {});
    yield "never";
  };
  const over = [serve(waiting.stream, never), serve(chosen.stream, () => new Response(bytesOf(never())))];
  while (chosen.sent.length === 0) await new Promise((resolve) => setImmediate(resolve));
  expect([waiting.sent, chosen.sent]).toEqual([[], ["head"]]);
  for (const { cancel } of [waiting, chosen]) cancel();
  expect(await Promise.all(over)).toEqual([false, false]);
  expect([waiting.sent, chosen.sent]).toEqual([[], ["head"]]);
});

test("the deadline of a request ends with its head: a stream goes on behind it", async () => {
  const place = { actor: undefined, shape: "", resources: {} } as unknown as TaskContext["place"];
  const context = new TaskContext({ name: "fetch", taskIdPrefix: "", callId: 0, place });
  const request = { requestId: "r", app: "app", deployment: "Front", modelId: "", headers: [], deadlineMs: Date.now() + 60_000 };
  context.data = contextData(request);
  const deadlines: unknown[] = [];
  const { stream } = served();
  const answer = async function* (): AsyncGenerator<string> {
    deadlines.push(currentRequest()?.deadlineMs);
    yield "a";
    deadlines.push(currentRequest()?.deadlineMs);
  };
  const call: LibraryCall = { signal: new AbortController().signal, cancel: () => {}, run: (body) => taskContext.run(context, body) };
  const requests = new HttpRequests({ fetch: answer, ongoing: () => 1, showsErrors: false, onError: () => {} });
  await new Promise((resolve) => requests.serve(stream, call, resolve));
  expect(deadlines).toEqual([expect.any(Number), undefined]);
});

test("a generator without await is a stream, too; what JSON would lose is a failure", async () => {
  const letters = served();
  const answer = function* (): Generator {
    yield "a";
    yield { b: 1 };
  };
  expect(await serve(letters.stream, answer)).toBe(false);
  expect(letters.sent).toEqual(["head", "a", '{"b":1}\n', "end"]);
  for (const value of [new Map([["a", 1]]), new Set([1]), Number.NaN, Number.POSITIVE_INFINITY]) {
    const { stream, sent } = served();
    expect(await serve(stream, () => value)).toBe(true);
    expect(sent).toEqual(["whole 500"]);
  }
});
