/** How checks are spread over the messages of a transaction. */
import { expect, test } from "vitest";
import { NatsSubjects } from "./nats-subjects.ts";
import { messagesOf } from "./transaction-messages.ts";

const subjects = new NatsSubjects("c");
const value = new Uint8Array([1]);
const options = { subjects, id: "t", batchId: "b", deletions: new Map([["gone", 7]]) };
const SEQUENCE = "Nats-Expected-Last-Subject-Sequence";
const SUBJECT = "Nats-Expected-Last-Subject-Sequence-Subject";

test("one write is one message without a batch, and its check rides on it", () => {
  const [message, ...more] = messagesOf({ checks: [{ key: "a", revision: 3 }], writes: [{ key: "a", value }] }, options);
  expect(more).toEqual([]);
  expect(message).toEqual({
    subject: "$KV.shoal_c.a",
    data: value,
    headers: { "Shoal-Transaction": "t", [SEQUENCE]: "3" },
  });
});

test("a check of another key rides on a write that has none, and more of them on guards at the end", () => {
  const messages = messagesOf(
    {
      checks: ["x", "y", "a"].map((key, index) => ({ key, revision: index + 1 })),
      writes: [{ key: "a", value }, { key: "b" }],
    },
    options,
  );
  expect(messages.map(({ subject, headers }) => [subject, headers[SEQUENCE], headers[SUBJECT], headers["KV-Operation"]])).toEqual([
    ["$KV.shoal_c.a", "3", undefined, undefined],
    ["$KV.shoal_c.b", "2", "$KV.shoal_c.y", "DEL"],
    ["shoal.c.store.guard", "1", "$KV.shoal_c.x", undefined],
  ]);
  expect(messages.map(({ headers }) => [headers["Nats-Batch-Id"], headers["Nats-Batch-Sequence"], headers["Nats-Batch-Commit"]])).toEqual([
    ["b", "1", undefined],
    ["b", "2", undefined],
    ["b", "3", "1"],
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
  expect(subjects.keyOf(subjects.guard)).toBeUndefined();
});
