import { expect, test } from "vitest";
import { hashOf, replicaOfSession, sessionHeaders, sessionOf } from "./sessions.ts";

const replicas = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: `replica ${index}`, hash: hashOf(`replica ${index}`) }));

test("sessions are spread evenly, and a replica that goes moves its own alone", () => {
  const all = replicas(10);
  const sessions = Array.from({ length: 10_000 }, (_, index) => `session-${index}`);
  const before = sessions.map((session) => replicaOfSession(session, all));
  const counts = all.map((replica) => before.filter((found) => found === replica).length);
  expect(Math.min(...counts)).toBeGreaterThan(800);
  expect(Math.max(...counts)).toBeLessThan(1200);
  const gone = all[3];
  const left = all.filter((replica) => replica !== gone);
  for (const [index, session] of sessions.entries())
    if (before[index] !== gone) expect(replicaOfSession(session, left)).toBe(before[index]);
});

test("a session is read of headers in any spelling, and none is empty", () => {
  expect(sessionOf(["host", "a", "X-Session-Id", "s1"])).toBe("s1");
  expect(sessionOf(["x_session_id", "s2"])).toBe("s2");
  expect(sessionOf(["x-request-id", "r"])).toBe("");
  expect([sessionHeaders("s"), sessionHeaders("")]).toEqual([["x-session-id", "s"], []]);
  expect(replicaOfSession("s", [])).toBeUndefined();
});
