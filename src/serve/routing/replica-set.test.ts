import { expect, test } from "vitest";
import type { RequestToRoute } from "./request-router.ts";
import { type ReplicaInfo, ReplicaSet, type RoutedReplica } from "./replica-set.ts";

function info(id: string, models: readonly string[] = []): ReplicaInfo {
  return { id, actorName: `actor ${id}`, nodeId: "n", models };
}

function to(modelId: string, sessionId = ""): RequestToRoute {
  return { modelId, sessionId, method: "GET" };
}

/** Small, and the same in each run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}

test("two choices keep the replicas about equally full", () => {
  const set = new ReplicaSet(1000, seeded(7));
  set.update(
    Array.from({ length: 50 }, (_, index) => info(String(index))),
    1000,
  );
  for (let request = 0; request < 5000; request += 1) set.begin(set.choose(to("")) as RoutedReplica);
  const loads = [...set.all].map(({ ongoing }) => ongoing);
  expect(Math.max(...loads) - Math.min(...loads)).toBeLessThan(10);
});

test("a replica at its limit gets nothing until one ends; nobody is above the limit", () => {
  const set = new ReplicaSet(1, seeded(1));
  set.update([info("a"), info("b")], 2);
  const taken: RoutedReplica[] = [];
  for (let replica = set.choose(to("")); replica !== undefined; replica = set.choose(to(""))) {
    set.begin(replica);
    taken.push(replica);
  }
  expect(taken).toHaveLength(4);
  expect([...set.all].map(({ ongoing }) => ongoing)).toEqual([2, 2]);
  expect(set.hasRoom).toBe(false);
  set.end(taken[0] as RoutedReplica);
  expect(set.choose(to(""))).toBe(taken[0]);
});

test("who said that it is full is left out, until something is heard of it or it is tried again", () => {
  const set = new ReplicaSet(5, seeded(1));
  set.update([info("a")], 5);
  const a = set.choose(to("")) as RoutedReplica;
  set.begin(a);
  set.refused(a, 5);
  expect([set.choose(to("")), a.others]).toEqual([undefined, 5]);
  set.forgetBusy();
  expect(set.choose(to(""))).toBe(a);
});

test("a report of a replica counts the requests of others, without those of this router", () => {
  const set = new ReplicaSet(9, seeded(1));
  set.update([info("a")], 9);
  const a = set.find("a") as RoutedReplica;
  for (let request = 0; request < 3; request += 1) set.begin(a);
  // The request that is over is among the five, as are the two that are left.
  set.end(a, 5);
  expect([a.ongoing, a.others, a.load]).toEqual([2, 2, 4]);
});

test("of the replicas that have a model the one with the fewest requests gets the next", () => {
  const set = new ReplicaSet(9, seeded(1));
  set.update([info("a", ["m"]), info("b", ["m"]), info("c", ["m"])], 9);
  for (const [id, requests] of [
    ["a", 2],
    ["b", 1],
    ["c", 3],
  ] as const)
    for (let request = 0; request < requests; request += 1) set.begin(set.find(id) as RoutedReplica);
  expect(set.choose(to("m"))?.id).toBe("b");
});

test("requests for a model go where it is loaded, as long as there is room", () => {
  const set = new ReplicaSet(1, seeded(3));
  set.update([info("a"), info("b", ["m"]), info("c")], 1);
  const b = set.choose(to("m")) as RoutedReplica;
  expect(b.id).toBe("b");
  set.begin(b);
  expect(set.choose(to("m"))?.id).not.toBe("b");
  set.end(b);
  set.loaded(set.find("c") as RoutedReplica, "other");
  expect(set.choose(to("other"))?.id).toBe("c");
});

test("a session keeps its replica; while that has no room the next one of the session gets it, and a model goes first", () => {
  const set = new ReplicaSet(1, seeded(3));
  set.update([info("a"), info("b", ["m"]), info("c", ["m"])], 1);
  const own = set.choose(to("", "s")) as RoutedReplica;
  for (let draw = 0; draw < 20; draw += 1) expect(set.choose(to("", "s"))).toBe(own);
  set.begin(own);
  const next = set.choose(to("", "s")) as RoutedReplica;
  for (let draw = 0; draw < 20; draw += 1) expect(set.choose(to("", "s"))).toBe(next);
  expect(next).not.toBe(own);
  set.end(own);
  expect(set.choose(to("", "s"))).toBe(own);
  const ofModel = Array.from({ length: 40 }, (_, index) => set.choose(to("m", `s${index}`))?.id);
  expect(new Set(ofModel)).toEqual(new Set(["b", "c"]));
});

test("replicas on the preferred node get all while one of them has room, and sessions keep theirs", () => {
  const set = new ReplicaSet(2, seeded(5));
  set.preferredNodeId = "here";
  const infos = ["a", "b", "c", "d"].map((id) => ({ ...info(id), nodeId: id < "c" ? "here" : "there" }));
  set.update(infos, 2);
  const owners = new Set(Array.from({ length: 40 }, (_, index) => set.choose(to("", `s${index}`))?.id));
  expect(owners).toEqual(new Set(["a", "b", "c", "d"]));
  const taken = Array.from({ length: 8 }, () => {
    const replica = set.choose(to("")) as RoutedReplica;
    set.begin(replica);
    return replica;
  });
  const idsOf = (start: number, end: number): string =>
    taken
      .slice(start, end)
      .map(({ id }) => id)
      .sort()
      .join("");
  expect([idsOf(0, 4), idsOf(4, 8), set.hasRoom]).toEqual(["aabb", "ccdd", false]);
  // Both have room again: the one that is near gets the next request.
  set.end(set.find("c") as RoutedReplica);
  set.end(set.find("a") as RoutedReplica);
  expect(set.choose(to(""))?.id).toBe("a");
  set.update(infos.slice(2), 2);
  expect(set.choose(to(""))?.id).toBe("c");
});

test("what the controller leaves out is retired, and keeps what is under way", () => {
  const set = new ReplicaSet(3, seeded(3));
  set.update([info("a"), info("b")], 3);
  const a = set.find("a") as RoutedReplica;
  set.begin(a);
  const { added, retired } = set.update([info("b"), info("c")], 3);
  expect([added.map(({ id }) => id), retired.map(({ id }) => id)]).toEqual([["c"], ["a"]]);
  expect([a.isRetired, a.ongoing]).toEqual([true, 1]);
  set.end(a);
  for (let draw = 0; draw < 20; draw += 1) expect(set.choose(to(""))?.id).not.toBe("a");
});

test("choosing looks at two replicas, however many there are", () => {
  let draws = 0;
  const set = new ReplicaSet(5, () => {
    draws += 1;
    return 0.5;
  });
  set.update(
    Array.from({ length: 1000 }, (_, index) => info(String(index))),
    5,
  );
  for (let request = 0; request < 100; request += 1) set.begin(set.choose(to("")) as RoutedReplica);
  expect(draws).toBe(200);
});

test("a router of the user's goes first; one that names nobody makes the request wait", () => {
  const set = new ReplicaSet(2);
  set.update([info("a"), info("b", ["m"])], 2);
  set.router = { chooseReplicas: ({ modelId }, candidates) => candidates.filter(({ models }) => models.includes(modelId)) };
  expect(set.choose(to("m"))?.id).toBe("b");
  expect(set.choose(to("n"))).toBeUndefined();
  set.router = { chooseReplicas: () => [{ id: "gone", nodeId: "", models: [], ongoing: 0 }] };
  expect(set.choose(to("m"))).toBeUndefined();
});
