/** Compares the table of keys with a naive history of all changes, and tests compaction. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { KeyTable } from "./key-table.ts";

const KEYS = ["a", "a.b", "b", "b.c"];

interface Change {
  readonly key: string;
  readonly value: Uint8Array | undefined;
}

interface Step {
  readonly writes: readonly Change[];
  /** Distance of the checked revision from the true one. */
  readonly off: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  writes: fc.uniqueArray(
    fc.record({ key: fc.constantFrom(...KEYS), value: fc.option(fc.uint8Array({ maxLength: 2 }), { nil: undefined }) }),
    { minLength: 1, maxLength: 3, selector: ({ key }) => key },
  ),
  off: fc.constantFrom(0, 0, 0, 1),
});

test("transactions and listings agree with a history of everything", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.constantFrom("", ...KEYS), (steps, prefix) => {
      const table = new KeyTable();
      const history: Change[] = [];
      /** Revision of the last change; 0 if there was none. */
      const revisionOf = (key: string): number => history.findLastIndex((change) => change.key === key) + 1;
      for (const { writes, off } of steps) {
        const { key } = writes[0] as Change;
        const result = table.apply({ checks: [{ key, revision: revisionOf(key) + off }], writes });
        expect(result.committed).toBe(off === 0);
        if (!result.committed) continue;
        expect(result.revisions).toEqual(writes.map((_, index) => history.length + index + 1));
        history.push(...writes);
      }
      const isUnder = (key: string): boolean => prefix === "" || key === prefix || key.startsWith(`${prefix}.`);
      const live = history.flatMap(({ key, value }, index) =>
        revisionOf(key) === index + 1 && value !== undefined && isUnder(key) ? [{ key, value, revision: index + 1 }] : [],
      );
      expect([...table.list(prefix)].sort((left, right) => left.revision - right.revision)).toEqual(live);
    }),
  );
});

test("a deletion can be checked until the second compaction after it", () => {
  const table = new KeyTable();
  const write = { key: "a", value: new Uint8Array() };
  table.apply({ writes: [write] });
  table.apply({ writes: [{ key: "a" }] });
  table.compact();
  expect(table.apply({ checks: [{ key: "a", revision: 2 }], writes: [{ key: "a" }] }).committed).toBe(true);
  table.compact();
  table.compact();
  expect(table.apply({ checks: [{ key: "a", revision: 3 }], writes: [write] }).committed).toBe(false);
  expect(table.apply({ checks: [{ key: "a", revision: 0 }], writes: [write] }).committed).toBe(true);
});
