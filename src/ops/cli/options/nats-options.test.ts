/** Tests how the options that name a NATS are read, and which are refused. */
import { expect, test } from "vitest";
import { natsOf, refuseUnsafeNats } from "./nats-options.ts";

function read(url: string, more: { ca?: string; credentials?: string } = {}): ReturnType<typeof natsOf> {
  return natsOf({ "nats-url": url, "nats-ca": more.ca, "nats-credentials": more.credentials });
}

test("one or several servers, plainly or over TLS, with a token or a user", () => {
  expect(read("nats://h:4222")).toEqual({ kind: "runs", urls: ["nats://h:4222"] });
  expect(read("nats://s%40t@a:1, nats://s%40t@b:1")).toEqual({ kind: "runs", urls: ["nats://a:1", "nats://b:1"], token: "s@t" });
  expect(read("tls://ann:p%3Aw@[fd00::7]:1")).toEqual({
    kind: "runs",
    urls: ["nats://[fd00::7]:1"],
    user: "ann",
    password: "p:w",
    tls: { isAfterGreeting: true },
  });
});

test.each([
  ["http://h:1", "takes nats://host:port or tls://host:port"],
  ["nats://:pw@h:1", "takes nats://host:port or tls://host:port"],
  ["nats://a:1,", "takes nats://host:port or tls://host:port"],
  ["nats://x@a:1,nats://y@b:1", "the same token, or user and password"],
  ["nats://a:1,tls://b:1", "either nats:// or tls://"],
  ["nats://a:1,nats://a:1", "each server once"],
])("%s is refused", (url, reason) => {
  expect(() => read(url)).toThrow(reason);
});

test("what was received is shown without its secrets", () => {
  expect(() => read("nats://s3cret@a:1,nats://other@b:1")).toThrow("received nats://***@a:1,nats://***@b:1");
});

test("files say what is wrong with them", () => {
  expect(() => read("nats://h:1", { ca: "/nowhere" })).toThrow("--nats-ca is for servers of tls://");
  expect(() => read("tls://h:1", { ca: "/nowhere" })).toThrow("/nowhere: there is no such file");
  expect(() => read("nats://h:1", { credentials: "/nowhere" })).toThrow("/nowhere: there is no such file");
  expect(() => read("nats://token@h:1", { credentials: "/nowhere" })).toThrow("exclude each other");
});

test("secrets of a cluster are kept only where nobody else reads them, and get there unseen", () => {
  expect(() => refuseUnsafeNats(read("nats://127.0.0.1:1,nats://[::1]:1"))).not.toThrow();
  expect(() => refuseUnsafeNats(read("tls://10.0.0.1:1"))).toThrow("anybody could read what is in the NATS at nats://10.0.0.1:1");
  expect(() => refuseUnsafeNats(read("nats://token@10.0.0.1:1"))).toThrow("is not encrypted");
  expect(() => refuseUnsafeNats(read("tls://token@10.0.0.1:1"))).not.toThrow();
});
