/**
 * The allocator of an arena against a naive oracle that knows every page: nothing overlaps, free neighbours are one, the best fit is taken.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ArenaExtents } from "./arena-extents.ts";
import { PAGE_BYTES } from "../limits.ts";

const PAGES = 64;

/** A plain model: one boolean for each page. */
class Oracle {
  readonly pages = new Array<boolean>(PAGES).fill(false);
  highWater = 0;

  runs(): { offset: number; length: number }[] {
    const runs: { offset: number; length: number }[] = [];
    for (let page = 0; page < this.highWater; page += 1) {
      if (this.pages[page] === true) continue;
      const last = runs.at(-1);
      if (last !== undefined && last.offset + last.length === page) last.length += 1;
      else runs.push({ offset: page, length: 1 });
    }
    return runs;
  }

  bestFit(pages: number): { offset: number; length: number } | undefined {
    const fitting = this.runs().filter((run) => run.length >= pages);
    return fitting.sort((left, right) => left.length - right.length || left.offset - right.offset)[0];
  }

  mark(offset: number, pages: number, isTaken: boolean): void {
    for (let page = offset; page < offset + pages; page += 1) {
      if (this.pages[page] === isTaken) throw new Error(`page ${page} is ${isTaken ? "taken" : "free"} already`);
      this.pages[page] = isTaken;
    }
  }
}

type Step = { kind: "recycled" | "fresh" | "refused" | "free"; number: number };

const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom("recycled", "recycled", "fresh", "refused", "free", "free"),
    number: fc.integer({ min: 1, max: 12 }),
  }),
  { maxLength: 200 },
);

describe("ArenaExtents", () => {
  test("agrees with the oracle after any sequence of steps", () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const extents = new ArenaExtents(PAGES * PAGE_BYTES);
        const oracle = new Oracle();
        const taken: { offset: number; pages: number }[] = [];
        for (const { kind, number } of sequence) {
          const sizeBytes = number * PAGE_BYTES - (number % 3);
          if (kind === "recycled") {
            const expected = oracle.bestFit(number);
            expect(extents.bestFit(sizeBytes)).toBe(expected === undefined ? undefined : expected.length * PAGE_BYTES);
            const offset = extents.takeRecycled(sizeBytes);
            expect(offset).toBe(expected === undefined ? undefined : expected.offset * PAGE_BYTES);
            if (expected === undefined) continue;
            oracle.mark(expected.offset, number, true);
            taken.push({ offset: expected.offset, pages: number });
          } else if (kind === "free") {
            const [extent] = taken.splice(number % Math.max(1, taken.length), 1);
            if (extent === undefined) continue;
            oracle.mark(extent.offset, extent.pages, false);
            expect(extents.free(extent.offset * PAGE_BYTES)).toBe(true);
            expect(extents.free(extent.offset * PAGE_BYTES)).toBe(false);
          } else {
            const offset = extents.takeFresh(sizeBytes);
            if (oracle.highWater + number > PAGES) {
              expect(offset).toBeUndefined();
              continue;
            }
            expect(offset).toBe(oracle.highWater * PAGE_BYTES);
            if (kind === "refused") {
              extents.returnFresh(offset as number);
              continue;
            }
            oracle.mark(oracle.highWater, number, true);
            taken.push({ offset: oracle.highWater, pages: number });
            oracle.highWater += number;
          }
          expect(extents.highWaterBytes).toBe(oracle.highWater * PAGE_BYTES);
          expect(extents.usedBytes).toBe(oracle.pages.filter(Boolean).length * PAGE_BYTES);
          expect(extents.isEmpty).toBe(taken.length === 0);
        }
      }),
    );
  });

  test("freeing everything leaves one extent", () => {
    const extents = new ArenaExtents(PAGES * PAGE_BYTES);
    const offsets = Array.from({ length: PAGES }, () => extents.takeFresh(1) as number);
    for (const offset of offsets.toSorted((left, right) => (left % 7) - (right % 7))) extents.free(offset);
    expect(extents.bestFit(1)).toBe(PAGES * PAGE_BYTES);
  });
});
