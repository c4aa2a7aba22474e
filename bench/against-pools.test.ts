import { expect, test } from "vitest";
import { ratioToFastest, selectRows } from "./against-pools.ts";
import { ROWS } from "./pools/rows.ts";

test("Shoal is compared with the fastest of the others", () => {
  expect(ratioToFastest({ shoal: 300, piscina: 100, tinypool: 150, workerpool: null }, false)).toBe(2);
  expect(ratioToFastest({ shoal: 200, piscina: 100, tinypool: 50, workerpool: 400 }, true)).toBe(0.25);
  expect(ratioToFastest({ shoal: null, piscina: 100, tinypool: 50, workerpool: 400 }, true)).toBeNull();
  expect(ratioToFastest({ shoal: 1, piscina: null, tinypool: null, workerpool: null }, false)).toBeNull();
});

test("rows are chosen by name, and unknown ones are refused with the names that there are", () => {
  expect(selectRows([])).toBe(ROWS);
  expect(selectRows(["start", "in-flight"]).map(({ name }) => name)).toEqual(["in-flight", "start"]);
  expect(() => selectRows(["in-flihgt"])).toThrow('Cannot measure "in-flihgt": the rows are one-at-a-time, in-flight,');
});
