/** The table of keys against a naive history of all changes, and what is forgotten. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { StoreChange } from "./control-store.ts";
import { KeyTable, keyOf, revisionOf } from "./key-table.ts";

const KEYS = ["a", "a.b", "b", "b.c"];

interface Step {
  readonly writes: readonly { key: string; value: Uint8Array | undefined }[];
  /** How far the revision that is checked lies from the true one. */
  readonly off: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  writes: fc.uniqueArray(
    fc.record({ key: fc.constantFrom(...KEYS), value: fc.option(fc.uint8Array({ maxLength: 2 }), { nil: undefined }) }),
    { minLength: 1, maxLength: 3, selector: ({ key }) => key },
  ),
  off: fc.constantFrom(0, 0, 0, 1),
});

test("transactions, listings and changes agree with a history of everything", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.nat(40), fc.constantFrom("", ...KEYS), (steps, after, prefix) => {
      const table = new KeyTable();
      const history: StoreChange[] = [];
      const last = (key: string): StoreChange | undefined => history.findLast((change) => keyOf(change) === key);
      for (const { writes, off } of steps) {
        const { key } = writes[0] as { key: string };
        const before = last(key);
        const outcome = table.apply({ checks: [{ key, revision: (before === undefined ? 0 : revisionOf(before)) + off }], writes });
        expect(outcome.committed).toBe(off === 0);
        history.push(...outcome.changes);
      }
      expect(history.map(revisionOf)).toEqual(history.map((_, index) => index + 1));
      const isCovered = (change: StoreChange): boolean =>
        prefix === "" || keyOf(change) === prefix || keyOf(change).startsWith(`${prefix}.`);
      const newest = history.filter((change) => last(keyOf(change)) === change && isCovered(change));
      expect(table.changesAfter(prefix, after)).toEqual(newest.filter((change) => revisionOf(change) > after));
      const live = newest.flatMap((change) => (change.kind === "put" ? [change.entry] : []));
      expect([...table.list(prefix).entries].sort((left, right) => left.revision - right.revision)).toEqual(live);
    }),
  );
});

test("a deletion can be checked until the second compaction after it", () => {
  const table = new KeyTable();
  const write = { key: "a", value: new Uint8Array() };
  table.apply({ writes: [write] });
  table.apply({ writes: [{ key: "a" }] });
  table.compact();
  expect(table.forgottenUpTo).toBe(0);
  expect(table.changesAfter("", 1)).toEqual([{ kind: "delete", key: "a", revision: 2 }]);
  table.compact();
  expect(table.forgottenUpTo).toBe(2);
  expect(table.apply({ checks: [{ key: "a", revision: 2 }], writes: [write] }).committed).toBe(false);
  expect(table.apply({ checks: [{ key: "a", revision: 0 }], writes: [write] }).committed).toBe(true);
});
