/** Copies of what processes of this node own elsewhere: noted while their homes live, one of them kept when a home dies, all of them freed when nobody needs them. */
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { NodeTag, ObjectId, ProcessId } from "../../base/ids.ts";
import type { CopyKey } from "../../wire/objects/transfer-messages.ts";
import { type CopyReport, type OrphanEffect, OrphanedObjects } from "./orphaned-objects.ts";

const self = "self" as NodeTag;
const home = "home" as NodeTag;
const [first, second, third] = ["n1", "n2", "n3"] as NodeTag[] as [NodeTag, NodeTag, NodeTag];
const owner = "owner" as ProcessId;
const of: CopyKey = ["id" as ObjectId, ["arena", 64, 100 * 1_048_576, "memory"]];
const PLACE = "arena/64";

let directory: OrphanedObjects;
let owned: boolean;

beforeEach(() => {
  owned = true;
  directory = new OrphanedObjects(self, () => owned);
});

const report = (node: NodeTag, pull: number): CopyReport => ({ key: "k", of, home, owner, node, pull });
const keep = (node: NodeTag, isKept: boolean): OrphanEffect => ({ kind: "keep", node, of, isKept });
const free = (node: NodeTag): OrphanEffect => ({ kind: "free", node, of });
const want = (node: NodeTag, pull: number, avoid: string[] = []): NodeTag | undefined => directory.wanted({ key: "k", node, pull, avoid });

describe("while the home lives", () => {
  test("copies are noted, and forgotten with the pull by which they came", () => {
    expect(directory.whole(report(first, 1))).toEqual([]);
    expect(directory.whole(report(first, 2))).toEqual([]);
    expect(directory.gone(report(first, 1))).toEqual([]);
    expect(directory.wholeAt("k")).toEqual([first]);
    directory.gone(report(first, 2));
    expect([directory.size, directory.hasAdopted("k")]).toEqual([0, false]);
  });

  test("what its owner frees goes everywhere, also where the home's word may not come any more", () => {
    directory.whole(report(first, 1));
    directory.whole(report(self, 1));
    expect(directory.freed("arena/0")).toEqual([]);
    expect(directory.freed(PLACE)).toEqual([free(first), free(self)]);
    expect(directory.size).toBe(0);
    expect(directory.nodeGone(home)).toEqual([]);
  });

  test("who asks has heard of its death before this node, and is sent to a copy", () => {
    directory.whole(report(first, 1));
    directory.whole(report(second, 1));
    expect(want(first, 7)).toBe(second);
    expect(want(third, 7, [first])).toBe(second);
    expect(want(third, 7, [first, second])).toBeUndefined();
  });
});

describe("when the home dies", () => {
  test("the oldest copy is kept and the others are a cache; of this node's own before all others", () => {
    directory.whole(report(first, 1));
    directory.whole(report(second, 1));
    expect(directory.nodeGone(home)).toEqual([keep(first, true), keep(second, false)]);
    expect(directory.hasAdopted("k")).toBe(true);
    expect(directory.whole(report(third, 1))).toEqual([keep(third, false)]);
    const other = new OrphanedObjects(self, () => true);
    other.whole(report(first, 1));
    other.whole(report(self, 1));
    expect(other.nodeGone(home)).toEqual([keep(first, false), keep(self, true)]);
  });

  test("what nobody owns any more goes, at once or when its owner ends", () => {
    directory.whole(report(first, 1));
    expect(directory.ownerGone(owner)).toEqual([]);
    owned = false;
    expect(directory.ownerGone(owner)).toEqual([]);
    expect(directory.nodeGone(home)).toEqual([free(first)]);
    owned = true;
    const another = { ...report(first, 1), home: third };
    directory.whole(another);
    directory.nodeGone(third);
    owned = false;
    expect(directory.ownerGone("somebody else" as ProcessId)).toEqual([]);
    expect(directory.ownerGone(owner)).toEqual([free(first)]);
    expect(directory.size).toBe(0);
  });

  test("a copy that becomes whole when none is known is not kept: it may have been freed", () => {
    directory.nodeGone(home);
    expect(directory.whole(report(first, 1))).toEqual([free(first)]);
  });

  test("another copy is kept when the keeper dies or loses its own, and without one the object is lost", () => {
    for (const node of [first, second, third]) directory.whole(report(node, 1));
    directory.nodeGone(home);
    expect(directory.nodeGone(first)).toEqual([keep(second, true), keep(third, false)]);
    // A node's question may overtake its report of a lost copy.
    expect(want(second, 8)).toBe(third);
    expect(directory.gone(report(second, 1))).toEqual([keep(third, true)]);
    expect(want(third, 8)).toBeUndefined();
    expect(directory.gone(report(third, 1))).toEqual([]);
    expect(want(first, 9)).toBeUndefined();
    expect(directory.size).toBe(0);
  });

  test("receivers are a tree: two to each source, and those that have all of it are sources", () => {
    directory.whole(report(first, 1));
    directory.whole(report(second, 1));
    directory.nodeGone(home);
    const [a, b, c, d, e] = ["a", "b", "c", "d", "e"] as NodeTag[] as [NodeTag, NodeTag, NodeTag, NodeTag, NodeTag];
    expect([a, b, c, d, e].map((node, index) => want(node, index))).toEqual([first, first, second, second, a]);
    // The keeper dies: its receivers ask again, and all nodes with the object remain sources.
    directory.nodeGone(first);
    expect([want(a, 10), want(b, 11)]).toEqual([second, second]);
    expect(
      directory
        .freed(PLACE)
        .map(({ node }) => node)
        .sort(),
    ).toEqual([a, b, second].sort());
  });
});

test("whatever happens, one whole copy is kept once the home is dead, and nothing is left when all is freed", () => {
  const nodes = [self, first, second, third];
  const step = fc.record({
    what: fc.constantFrom("whole", "gone", "dies", "want", "home"),
    node: fc.constantFrom(...nodes),
    pull: fc.integer({ min: 1, max: 3 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const all = new OrphanedObjects(self, () => true);
      const kept = new Map<NodeTag, boolean>();
      const whole = new Map<NodeTag, number>();
      const dead = new Set<NodeTag>();
      const apply = (effects: readonly OrphanEffect[]): void => {
        for (const effect of effects) {
          if (effect.kind === "keep") kept.set(effect.node, effect.isKept);
          else whole.delete(effect.node);
        }
      };
      for (const { what, node, pull } of steps) {
        if (dead.has(node)) continue;
        if (what === "whole") {
          whole.set(node, pull);
          apply(all.whole(report(node, pull)));
        } else if (what === "gone") {
          if (whole.get(node) === pull) whole.delete(node);
          apply(all.gone(report(node, pull)));
        } else if (what === "home") {
          dead.add(home);
          apply(all.nodeGone(home));
        } else if (what === "dies" && node !== self) {
          dead.add(node);
          whole.delete(node);
          apply(all.nodeGone(node));
        } else if (what === "want") {
          const source = all.wanted({ key: "k", node, pull: pull + 10, avoid: [] });
          if (source !== undefined) expect(dead.has(source)).toBe(false);
        }
        expect(new Set(all.wholeAt("k"))).toEqual(new Set(whole.keys()));
        if (dead.has(home) && whole.size > 0)
          expect(Array.from(whole.keys()).filter((holder) => kept.get(holder) === true)).toHaveLength(1);
      }
      all.freed(PLACE);
      expect(all.size).toBe(0);
    }),
  );
});
