import { expect, test } from "vitest";
import { originForm, readHeaders, readHttp2Head } from "./request-headers.ts";

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

test("a target names a path, with a host or without", () => {
  expect(originForm("/a?b")).toEqual({ path: "/a?b", host: undefined });
  expect(originForm("http://h.example:1?q")).toEqual({ path: "/?q", host: "h.example:1" });
  expect(originForm("HTTPS://h/x")).toEqual({ path: "/x", host: "h" });
  for (const target of ["*", "", "a", "ftp://h/x", "http://u@h/x", "http:///x"]) expect(originForm(target)).toBeUndefined();
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
