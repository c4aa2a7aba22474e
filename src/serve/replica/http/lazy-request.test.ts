import { expect, test } from "vitest";
import { BodyReceiver } from "../../wire/body-receiver.ts";
import { lazyRequest } from "./lazy-request.ts";
import { flatHeaders, lazyResponse, wholeOf } from "./lazy-response.ts";

const head = {
  method: "POST",
  url: "http://h/p?q=1",
  requestId: "1",
  timeoutMs: 0,
  modelId: "",
  client: "",
  headers: ["X-A", "1", "x-a", "2", "content-type", "application/json"],
};
const LazyResponse = lazyResponse();
const never = (): AbortSignal => new AbortController().signal;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test("a lazy request is a Request, and reads as one", async () => {
  const request = lazyRequest(head, bytes('{"a":1}'), never);
  expect(request).toBeInstanceOf(Request);
  expect([request.method, request.url, request.headers.get("x-a"), request.bodyUsed]).toEqual(["POST", "http://h/p?q=1", "1, 2", false]);
  expect(await request.json()).toEqual({ a: 1 });
  expect(request.bodyUsed).toBe(true);
  await expect(request.text()).rejects.toThrow(TypeError);
});

test("what only a real one can do works as well", async () => {
  const request = lazyRequest(head, bytes("abc"), never);
  const copy = request.clone();
  expect([await copy.text(), await request.text()]).toEqual(["abc", "abc"]);
  expect(new Request(lazyRequest(head, bytes("abc"), never).url).url).toBe("http://h/p?q=1");
  const form = lazyRequest({ ...head, headers: ["content-type", "application/x-www-form-urlencoded"] }, bytes("a=1&b=2"), never);
  expect((await form.formData()).get("b")).toBe("2");
  expect(await lazyRequest({ ...head, method: "GET" }, bytes(""), never).text()).toBe("");
  await expect(lazyRequest(head, bytes("not json"), never).json()).rejects.toThrow(SyntaxError);
});

test("a streamed body is read as it comes", async () => {
  const body = new BodyReceiver(() => {});
  const request = lazyRequest(head, body, never);
  body.arrived(bytes("ab"));
  const text = request.text();
  body.arrived(bytes("c"));
  body.ended([]);
  expect(await text).toBe("abc");
});

test("the signal is the request's own", () => {
  const controller = new AbortController();
  const request = lazyRequest(head, bytes(""), () => controller.signal);
  controller.abort();
  expect(request.signal.aborted).toBe(true);
});

test("a lazy response is sent as it was given, without a real one", () => {
  expect(wholeOf(new LazyResponse("hi"))).toEqual({
    status: 200,
    statusText: "",
    headers: ["content-type", "text/plain;charset=UTF-8"],
    body: "hi",
  });
  expect(wholeOf(new LazyResponse("<p>", { status: 404, headers: { "Content-Type": "text/html" } }))).toEqual({
    status: 404,
    statusText: "",
    headers: ["content-type", "text/html"],
    body: "<p>",
  });
  expect(wholeOf(LazyResponse.json({ a: 1 }))).toMatchObject({ headers: ["content-type", "application/json"], body: '{"a":1}' });
  const changed = new LazyResponse("x");
  changed.headers.set("x-b", "1");
  expect(wholeOf(changed)?.headers).toEqual(["content-type", "text/plain;charset=UTF-8", "x-b", "1"]);
});

test("a lazy response is a Response, and reads as one", async () => {
  const response = new LazyResponse("hi", { status: 201, statusText: "Made" });
  expect(response).toBeInstanceOf(Response);
  expect(new Response("real")).toBeInstanceOf(LazyResponse);
  expect([response.status, response.statusText, response.ok, response.headers.get("content-type")]).toEqual([
    201,
    "Made",
    true,
    "text/plain;charset=UTF-8",
  ]);
  expect(await response.clone().text()).toBe("hi");
  expect(wholeOf(response)).toBeUndefined();
  expect(await new LazyResponse(new Uint8Array([65])).text()).toBe("A");
  expect(
    flatHeaders(
      new LazyResponse(null, {
        headers: [
          ["set-cookie", "a"],
          ["set-cookie", "b"],
        ],
      }).headers,
    ),
  ).toEqual(["set-cookie", "a", "set-cookie", "b"]);
});

test("what the real constructor refuses is refused", () => {
  expect(() => new LazyResponse("x", { status: 204 })).toThrow(TypeError);
  expect(() => new LazyResponse("x", { status: 99 })).toThrow(RangeError);
  expect(() => new LazyResponse("x", { headers: { "a b": "1" } })).toThrow(TypeError);
  expect(() => new LazyResponse("x", { headers: { a: "1\r\nb: 2" } })).toThrow(TypeError);
});

test("bytes that are changed afterwards are not sent", () => {
  const given = new Uint8Array([1, 2]);
  const response = new LazyResponse(given);
  given[0] = 9;
  expect(wholeOf(response)?.body).toEqual(new Uint8Array([1, 2]));
});
