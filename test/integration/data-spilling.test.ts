/** Exchanges of more bytes than the object store may hold: what does not fit goes to disk and comes back, and all rows are right. */
import { objectStoreStatistics } from "shoal";
import * as data from "shoal/data";
import { expect, test } from "vitest";
import { useSession } from "./session.ts";

const QUOTA = 64 * 2 ** 20;
useSession({ numCpus: 2, objectStoreMemoryBytes: QUOTA });

/** 48 MB in rows of 16 bytes, of which an exchange holds up to three copies: as read, parted, and put together. */
const COUNT = 3_000_000;
const rows = data
  .range(COUNT)
  .mapBatches(({ id }) => ({ id, mixed: Float64Array.from(id, (value) => Math.imul(value, 0x9e3779b1) >>> 0) }));
const twins = data.range(COUNT).mapBatches(({ id }) => ({ id, twin: id }));

test.each([
  ["sort", rows.sort("mixed"), true],
  ["shuffle", rows.randomShuffle({ seed: 1 }), false],
  ["groupBy with a group a row", rows.groupBy("id").aggregate({ mixed: data.sum("mixed") }), false],
  ["join", rows.join(twins, { on: "id" }), false],
] as const)("a %s of more than the store holds keeps within the store, and gives each row once", async (_, exchange, isSorted) => {
  const seen = new Uint8Array(COUNT);
  let [most, wrong, last] = [0, 0, 0];
  for await (const { id, mixed } of (exchange as data.Dataset<{ id: number; mixed: number }>).iterBatches({ batchSize: 250_000 })) {
    id.forEach((one, at) => {
      const value = mixed[at] as number;
      if (seen[one] !== 0 || value !== Math.imul(one, 0x9e3779b1) >>> 0 || (isSorted && value < last)) wrong += 1;
      seen[one] = 1;
      last = value;
    });
    most = Math.max(most, (await objectStoreStatistics()).usedBytes);
  }
  expect([wrong, seen.indexOf(0)]).toEqual([0, -1]);
  expect(most).toBeLessThanOrEqual(QUOTA);
  expect((await objectStoreStatistics()).spilledBytes).toBeGreaterThan(0);
});
