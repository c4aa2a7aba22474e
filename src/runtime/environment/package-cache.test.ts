/** What a node keeps of packages and what goes. */
import { expect, test } from "vitest";
import type { JobId } from "../base/ids.ts";
import { PackageCache } from "./package-cache.ts";

const one = "1" as JobId;
const two = "2" as JobId;

test("packages stay while jobs use them, and then the one goes that was used last the longest ago", () => {
  const shelf = new PackageCache(100);
  shelf.used("a", { bytes: 60, job: one });
  shelf.used("b", { bytes: 60, job: one });
  shelf.used("c", { bytes: 10, job: two });
  expect(shelf.evict()).toEqual([]);
  shelf.used("a", { bytes: 60, job: two });
  expect(shelf.hashes).toEqual(["a", "c", "b"]);
  shelf.jobEnded(one);
  expect(shelf.evict()).toEqual(["b"]);
  expect([shelf.has("a"), shelf.has("b")]).toEqual([true, false]);
  shelf.jobEnded(two);
  expect(shelf.evict()).toEqual([]);
  shelf.used("d", { bytes: 95, job: one });
  expect(shelf.evict()).toEqual(["c", "a"]);
});
