/** Choice of sources for copies: a tree that fills in breadth, has no circles, and forgets lost copies. */
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { NodeTag } from "../../base/ids.ts";
import { CopyDirectory } from "./copy-directory.ts";

const self = "self" as NodeTag;
const LARGE = 100 * 1_048_576;
const tag = (number: number): NodeTag => `n${number}` as NodeTag;

let directory: CopyDirectory;
let pulls: number;

beforeEach(() => {
  directory = new CopyDirectory(self);
  pulls = 0;
});

function want(node: NodeTag, avoid: string[] = [], sizeBytes: number = LARGE): NodeTag {
  pulls += 1;
  return directory.wanted({ key: "k", sizeBytes, node, pull: pulls, avoid });
}

describe("the directory of copies", () => {
  test("sends two to each source, receivers included, in breadth", () => {
    expect([1, 2, 3, 4, 5, 6, 7].map((number) => want(tag(number)))).toEqual([self, self, tag(1), tag(1), tag(2), tag(2), tag(3)]);
  });

  test("many have a small object from here", () => {
    expect(new Set(Array.from({ length: 16 }, (_, number) => want(tag(number), [], 1_048_576)))).toEqual(new Set([self]));
    expect(want(tag(99), [], 1_048_576)).toBe(tag(0));
  });

  test("who has all of it makes room at its source", () => {
    want(tag(1));
    want(tag(2));
    directory.whole({ key: "k", node: tag(1), pull: 99 });
    expect(want(tag(3))).toBe(tag(1));
    directory.whole({ key: "k", node: tag(1), pull: 1 });
    expect([4, 5, 6, 7, 8, 9].map((number) => want(tag(number)))).toEqual([tag(1), tag(2), tag(2), tag(3), tag(3), self]);
  });

  test("a node that asks again gets another source than the one that it had, and never one that waits for it", () => {
    want(tag(1));
    want(tag(2));
    expect(want(tag(3))).toBe(tag(1));
    // Node 1 was cut off, and node 3 receives from node 1.
    expect(want(tag(1), [self])).toBe(tag(2));
    expect(want(tag(3), [tag(1)])).not.toBe(tag(1));
    expect(want(tag(2), [self])).toBe(self);
  });

  test("what is gone is forgotten, unless it has come again", () => {
    want(tag(1));
    want(tag(1));
    directory.gone({ key: "k", node: tag(1), pull: 1 });
    expect(directory.holdersOf("k")).toEqual([tag(1)]);
    directory.gone({ key: "k", node: tag(1), pull: 2 });
    expect(directory.size).toBe(0);
    want(tag(1));
    want(tag(2));
    directory.nodeGone(tag(1));
    expect(directory.freed("k")).toEqual([tag(2)]);
    expect(directory.size).toBe(0);
    expect(directory.freed("k")).toEqual([]);
  });

  test("whatever happens, everybody's source leads home without a circle", () => {
    const node = fc.integer({ min: 1, max: 12 });
    const event = fc.oneof(
      fc.record({ kind: fc.constant("want"), node, avoid: fc.array(node, { maxLength: 3 }) }),
      fc.record({ kind: fc.constant("whole"), node, avoid: fc.constant([]) }),
      fc.record({ kind: fc.constant("gone"), node, avoid: fc.constant([]) }),
      fc.record({ kind: fc.constant("nodeGone"), node, avoid: fc.constant([]) }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 80 }), (events) => {
        const table = new CopyDirectory(self);
        const receiving = new Map<NodeTag, NodeTag>();
        const numbers = new Map<NodeTag, number>();
        let next = 0;
        for (const { kind, node: number, avoid } of events) {
          const who = tag(number);
          const pull = numbers.get(who) ?? -1;
          if (kind === "want") {
            next += 1;
            numbers.set(who, next);
            receiving.set(who, table.wanted({ key: "k", sizeBytes: LARGE, node: who, pull: next, avoid: avoid.map(tag) }));
          } else if (kind === "whole") {
            table.whole({ key: "k", node: who, pull });
            receiving.delete(who);
          } else {
            if (kind === "gone") table.gone({ key: "k", node: who, pull });
            else table.nodeGone(who);
            receiving.delete(who);
            // The receivers notice and ask again.
            for (const [child, source] of receiving) if (source === who) receiving.delete(child);
          }
          for (const start of receiving.keys()) {
            let at: NodeTag | undefined = start;
            for (let steps = 0; at !== undefined && at !== self; steps += 1) {
              expect(steps).toBeLessThan(13);
              at = receiving.get(at);
            }
          }
        }
      }),
    );
  });
});
