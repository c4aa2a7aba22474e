/** Tests which packages a node keeps and which it evicts. */
import { expect, test } from "vitest";
import type { JobId } from "../base/ids.ts";
import { PackageCache } from "./package-cache.ts";

const one = "1" as JobId;
const two = "2" as JobId;

test("packages stay while jobs use them, and then the one goes that was used last the longest ago", () => {
  const cache = new PackageCache(100);
  cache.used("a", { bytes: 60, job: one });
  cache.used("b", { bytes: 60, job: one });
  cache.used("c", { bytes: 10, job: two });
  expect(cache.evict()).toEqual([]);
  cache.used("a", { bytes: 60, job: two });
  expect(cache.hashes).toEqual(["a", "c", "b"]);
  cache.jobEnded(one);
  expect(cache.evict()).toEqual(["b"]);
  expect([cache.has("a"), cache.has("b")]).toEqual([true, false]);
  cache.jobEnded(two);
  expect(cache.evict()).toEqual([]);
  cache.used("d", { bytes: 95, job: one });
  expect(cache.evict()).toEqual(["c", "a"]);
});
