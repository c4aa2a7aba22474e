import { expect, test } from "vitest";
import { readHeaders, readHttp2Head, readTarget } from "./request-headers.ts";

test("headers that matter are read in any spelling, and an id is made where there is none", () => {
  const raw = [
    "Host",
    "a.example:80",
    "CONTENT-LENGTH",
    "12",
    "X-Request-Id",
    "mine",
    "serve-multiplexed-model-id",
    "m",
    "X_Session_Id",
    "s",
  ];
  expect(readHeaders(raw)).toEqual({
    headers: raw,
    requestId: "mine",
    host: "a.example:80",
    modelId: "m",
    sessionId: "s",
    length: 12,
    isChunked: false,
    mistake: undefined,
  });
  const made = readHeaders(["Transfer-Encoding", "chunked", "x-request-id", "not\nan id"]);
  expect(made).toMatchObject({ host: "localhost", isChunked: true });
  expect(made.headers.slice(-2)).toEqual(["x-request-id", made.requestId]);
  expect(made.requestId).not.toBe(readHeaders([]).requestId);
});

test.each(["a/b", "user@host", "a b", "[::1", "a:80:80", "a?b"])("no host: %s", (host) => {
  expect(readHeaders(["host", host]).mistake).toBe("its host header names no host");
});

test("two hosts are a mistake, and IPv6 is none", () => {
  expect(readHeaders(["host", "a", "Host", "a"]).mistake).toBe("it has two host headers");
  expect(readHeaders(["host", "[::1]:8000"]).mistake).toBeUndefined();
});

test("a target names a path, with a host or without, and that host is the request's", () => {
  const of = (target: string): [path: string | undefined, host: string, header: string | undefined] => {
    const read = readHeaders(["a", "host", "Host", "own"]);
    const path = readTarget(target, read);
    return [path, read.host, read.headers[3]];
  };
  expect(of("/a?b")).toEqual(["/a?b", "own", "own"]);
  expect(of("http://h.example:1?q")).toEqual(["/?q", "h.example:1", "h.example:1"]);
  expect(of("HTTPS://h/x")).toEqual(["/x", "h", "h"]);
  for (const target of ["*", "", "a", "ftp://h/x", "http://u@h/x", "http:///x", "http://a:99999/x"]) expect(of(target)[0]).toBeUndefined();
});

test.each([
  "/a/../b",
  "/a/./b",
  "/..",
  "/%2e%2E/b",
  "/a/.%2e/b",
  "/a\\..\\b",
  "//a/../b",
  "/a?x=/../",
  "/a#b/../c",
  "/ä",
  "/a|b?'<",
  "/.well-known/x",
  "/a.b/..c",
])("a path is read as URL reads it: %s", (path) => {
  const { pathname, search } = new URL(`http://h${path}`);
  expect(readTarget(path, readHeaders(["host", "h"]))).toBe(pathname + search);
});

test("hosts that no URL can have are none, and a client says nothing of the prefix", () => {
  for (const host of ["a:99999", "1.2.3.256", "a%zz", "[::g]"])
    expect(readHeaders(["host", host]).mistake).toBe("its host header names no host");
  expect(readHeaders(["X-Forwarded-Prefix", "/evil", "host", "h", "x-forwarded-prefix", "/too", "x-request-id", "1"]).headers).toEqual([
    "host",
    "h",
    "x-request-id",
    "1",
  ]);
});

test("a head of HTTP/2 is read as one of HTTP/1.1", () => {
  const raw = [":method", "GET", ":path", "/a?b", ":scheme", "https", ":authority", "h:1", "cookie", "a=1", "x", "1", "cookie", "b=2"];
  expect(readHttp2Head([...raw, "expect", "100-continue"])).toEqual({
    method: "GET",
    target: "/a?b",
    headers: ["host", "h:1", "x", "1", "cookie", "a=1; b=2"],
    expectsContinue: true,
    mistake: undefined,
  });
  const of = (...fields: string[]): string | undefined => readHttp2Head([":method", "GET", ":path", "/", ...fields]).mistake;
  expect(of("host", "a")).toBeUndefined();
  expect(of(":authority", "a", "host", "a")).toBeUndefined();
  expect(of(":authority", "a", "host", "b")).toBe("it names two hosts");
  expect(of()).toBe("it names no host");
  expect(readHttp2Head([":method", "CONNECT", ":authority", "a"]).mistake).toBe("its target is no path");
});
