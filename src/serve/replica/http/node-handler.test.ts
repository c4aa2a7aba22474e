import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, test, vi } from "vitest";
import { getClientAddress, lazyRequest } from "./lazy-request.ts";
import { nodeHandler } from "./node-handler.ts";

const send = (
  listener: (request: IncomingMessage, response: ServerResponse) => unknown,
  path = "/",
  init?: RequestInit,
): Promise<Response> => nodeHandler(listener)(new Request(`http://h.example${path}`, init));

test("a listener reads the request and writes the answer", async () => {
  const answer = await send(
    (request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (piece: string) => (body += piece));
      request.on("end", () => {
        response.setHeader("set-cookie", ["a=1", "b=2"]);
        response.writeHead(201, "Made", { "x-method": request.method }).end(`${request.url} ${String(request.headers["x-a"])} ${body}`);
      });
    },
    "/p?q=1",
    { method: "POST", body: "hällo", headers: { "x-a": "1" } },
  );
  expect(answer).toMatchObject({ status: 201, statusText: "Made" });
  expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  expect(answer.headers.get("x-method")).toBe("POST");
  expect(answer.headers.get("transfer-encoding")).toBeNull();
  expect(await answer.text()).toBe("/p?q=1 1 hällo");
});

test("the address of the client is that of its connection, whatever its headers say", async () => {
  const forged = ["x-forwarded-for", "198.51.100.1"];
  const head = { method: "GET", url: "http://h/", requestId: "1", timeoutMs: 0, modelId: "", client: "192.0.2.7", headers: forged };
  const address = nodeHandler((request, response) => response.end(String(request.socket.remoteAddress)));
  const { signal } = new AbortController();
  const request = lazyRequest(head, new Uint8Array(0), () => signal);
  expect([getClientAddress(request), await (await address(request)).text()]).toEqual(["192.0.2.7", "192.0.2.7"]);
  const made = new Request("http://h/", { headers: { "x-forwarded-for": "198.51.100.1" } });
  expect([getClientAddress(made), await (await address(made)).text()]).toEqual([undefined, "undefined"]);
});

test("a writer waits for its reader, and hears when the reader leaves", async () => {
  let written = 0;
  let isClosed = false;
  const answer = await send(async (_request, response) => {
    let wake = (): void => {};
    response
      .on("close", () => (isClosed = true))
      .on("close", () => wake())
      .on("drain", () => wake());
    // Set by a listener.
    const isOpen = (): boolean => !isClosed;
    while (isOpen()) {
      written += 1;
      if (!response.write(new Uint8Array(65_536))) await new Promise<void>((resolve) => (wake = resolve));
      else await new Promise<void>((resolve) => setImmediate(resolve));
    }
  });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  let read = 0;
  while (read < 40) {
    await reader.read();
    read += 1;
    expect(written - read).toBeLessThan(30);
  }
  await reader.cancel();
  await expect.poll(() => isClosed).toBe(true);
});

test("a request that is aborted, a listener that throws and one that hangs up", async () => {
  const stop = new AbortController();
  const waiting = send(() => {}, "/", { signal: stop.signal });
  stop.abort();
  await expect(waiting).rejects.toThrow("closed its connection");
  await expect(send(() => Promise.reject(new RangeError("late")))).rejects.toThrow(RangeError);
  await expect(
    send(() => {
      throw new RangeError("at once");
    }),
  ).rejects.toThrow("at once");
  await expect(send((request) => request.destroy())).rejects.toThrow("closed its connection");
  const half = await send((_request, response) => {
    response.write("half");
    setTimeout(() => response.destroy(), 5);
  });
  await expect(half.text()).rejects.toThrow("before the answer was whole");
});

test("a request that was answered is no aborted one, read or not; one that its client leaves is", async () => {
  const seen: string[] = [];
  const watch = (request: IncomingMessage): void => {
    const { method = "" } = request;
    // Frameworks ask as the request closes.
    request.on("close", () =>
      seen.push(`${method} ${(request as IncomingMessage & { readonly aborted: boolean }).aborted ? "aborted" : "over"}`),
    );
  };
  for (const init of [{}, { method: "POST", body: "unread" }]) {
    const answered = await send((request, response) => (watch(request), response.end("ok")), "/", init);
    expect(await answered.text()).toBe("ok");
    await vi.waitFor(() => expect(seen).toHaveLength(1));
    expect(seen.splice(0)).toEqual([`${init.method ?? "GET"} over`]);
  }
  const leave = new AbortController();
  const left = send((request) => watch(request), "/", { signal: leave.signal });
  left.catch(() => {});
  leave.abort();
  await vi.waitFor(() => expect(seen).toEqual(["GET aborted"]));
});
