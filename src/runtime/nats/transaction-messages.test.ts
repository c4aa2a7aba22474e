/** The messages of a transaction, and the checks that ride on them. */
import { expect, test } from "vitest";
import { NatsSubjects } from "./nats-subjects.ts";
import { messagesOf } from "./transaction-messages.ts";

const subjects = new NatsSubjects("c");
const value = new Uint8Array([1]);
const options = { subjects, id: "t", batchId: "b", deletions: new Map([["gone", 7]]) };
const SEQUENCE = "Nats-Expected-Last-Subject-Sequence";

test("one write is one message without a batch, and its check rides on it", () => {
  const [message, ...more] = messagesOf({ checks: [{ key: "a", revision: 3 }], writes: [{ key: "a", value }] }, options);
  expect(more).toEqual([]);
  expect(message).toEqual({
    subject: "$KV.shoal_c.a",
    data: value,
    headers: { "Shoal-Transaction": "t", [SEQUENCE]: "3" },
  });
});

test("several writes are one batch in their order, each with its own check", () => {
  const messages = messagesOf({ checks: [{ key: "b", revision: 2 }], writes: [{ key: "a", value }, { key: "b" }] }, options);
  expect(messages.map(({ subject, headers }) => [subject, headers[SEQUENCE], headers["KV-Operation"]])).toEqual([
    ["$KV.shoal_c.a", undefined, undefined],
    ["$KV.shoal_c.b", "2", "DEL"],
  ]);
  expect(messages.map(({ headers }) => [headers["Nats-Batch-Id"], headers["Nats-Batch-Sequence"], headers["Nats-Batch-Commit"]])).toEqual([
    ["b", "1", undefined],
    ["b", "2", "1"],
  ]);
});

test("a key that does not exist is expected at its deletion, once that is known", () => {
  const expected = (key: string): string | undefined =>
    messagesOf({ checks: [{ key, revision: 0 }], writes: [{ key, value }] }, options)[0]?.headers[SEQUENCE];
  expect([expected("new"), expected("gone")]).toEqual(["0", "7"]);
});

test("clusters have streams of their own", () => {
  expect(new NatsSubjects("other").stream).not.toBe(subjects.stream);
  expect(() => new NatsSubjects("a.b")).toThrow(RangeError);
  expect(subjects.keyOf("$KV.shoal_c.a.b")).toBe("a.b");
  expect(subjects.keyOf(subjects.barrier)).toBeUndefined();
});
