import { expect, test } from "vitest";
import { clustersOf, formatClusters } from "./local-clusters.ts";

const member = (addresses: string, { mark, name, startedMs = 0 }: { mark?: string; name?: string; startedMs?: number } = {}) => ({
  addresses: addresses.split(","),
  marks: mark === undefined ? [] : [mark],
  name,
  startedMs,
});

test("who shares an address, a token or heads is of one cluster, whoever comes first", () => {
  const of = (...members: ReturnType<typeof member>[]): number => clustersOf(members, (one) => one).length;
  expect(of()).toBe(0);
  expect(of(member("a"), member("b"))).toBe(2);
  expect(of(member("a"), member("a,b"), member("b"))).toBe(1);
  // The third makes one of the first two.
  expect(of(member("a"), member("b"), member("b,a"))).toBe(1);
  expect(of(member("a", { mark: "t" }), member("b", { mark: "t" }), member("c", { mark: "u" }))).toBe(2);
});

test("clusters are shown with what names them, the oldest first", () => {
  const clusters = clustersOf(
    [
      member("tcp://h:2", { startedMs: 2000 }),
      member("tcp://h:1", { startedMs: 60_000, name: "one" }),
      member("tcp://h:1", { startedMs: 1000 }),
    ],
    (one) => one,
  );
  expect(formatClusters(clusters)).toBe("h:1 (one, since 1970-01-01 00:00:01 UTC), h:2 (since 1970-01-01 00:00:02 UTC)");
});
