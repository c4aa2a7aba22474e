/**
 * Collective operations between real actors: every operation on small and large arrays, kinds of arrays, and what goes wrong.
 */
import { type ActorHandle, get, getActor, kill, remote } from "shoal";
import {
  CollectiveError,
  createCollectiveGroup,
  destroyCollectiveGroup,
  getCollectiveGroup,
  initCollectiveGroup,
  isGroupInitialized,
  type NumericArray,
  type ReduceOperation,
} from "shoal/util";
import { describe, expect, test } from "vitest";
import { failureOf, storeUsedBytes, until, useSession } from "./session.ts";

/** Element `index` of the array of a rank. */
function valueOf(rank: number, index: number): number {
  return (rank + 1) * 10 + (index % 7);
}

class Member {
  rank = 0;
  groupName = "default";

  async init(rank: number, worldSize: number, groupName = "default", timeoutMs?: number): Promise<void> {
    this.groupName = groupName;
    const group = await initCollectiveGroup({ rank, worldSize, groupName, timeoutMs });
    this.rank = group.rank;
  }

  async lazy(groupName: string): Promise<number[]> {
    this.groupName = groupName;
    const before = isGroupInitialized(groupName);
    const group = await getCollectiveGroup(groupName);
    this.rank = group.rank;
    return [group.rank, group.worldSize, before ? 1 : 0, isGroupInitialized(groupName) ? 1 : 0];
  }

  newArray(length: number): Float64Array {
    return Float64Array.from({ length }, (_, index) => valueOf(this.rank, index));
  }

  async allreduce(length: number, op?: ReduceOperation): Promise<Float64Array> {
    return (await getCollectiveGroup(this.groupName)).allreduce(this.newArray(length), { op });
  }

  async allreduceOf<A extends NumericArray>(array: A, op: ReduceOperation): Promise<A> {
    return (await getCollectiveGroup(this.groupName)).allreduce(array, { op });
  }

  async reduce(length: number, root: number): Promise<Float64Array> {
    return (await getCollectiveGroup(this.groupName)).reduce(this.newArray(length), { root });
  }

  async reduceScatter(length: number): Promise<Float64Array> {
    return (await getCollectiveGroup(this.groupName)).reduceScatter(this.newArray(length));
  }

  async allgather(length: number): Promise<Float64Array[]> {
    return (await getCollectiveGroup(this.groupName)).allgather(this.newArray(length));
  }

  async broadcast(length: number, root: number): Promise<Float64Array> {
    return (await getCollectiveGroup(this.groupName)).broadcast(this.newArray(length), { root });
  }

  async ring(length: number): Promise<Float64Array[]> {
    const group = await getCollectiveGroup(this.groupName);
    const array = this.newArray(length);
    const next = (group.rank + 1) % group.worldSize;
    const previous = (group.rank + group.worldSize - 1) % group.worldSize;
    const [, first] = await Promise.all([group.send(array, next), group.recv(new Float64Array(length), previous)]);
    const [, second] = await Promise.all([group.send(first, next), group.recv(new Float64Array(length), previous)]);
    return [first, second];
  }

  async barrierAt(timeoutMs?: number): Promise<number> {
    await (await getCollectiveGroup(this.groupName)).barrier({ timeoutMs });
    return Date.now();
  }

  async repeat(length: number, times: number): Promise<number> {
    const group = await getCollectiveGroup(this.groupName);
    const array = new Float32Array(length).fill(1);
    for (let time = 0; time < times; time += 1) await group.allreduce(array, { op: "average" });
    return array[length - 1] ?? 0;
  }

  async destroy(): Promise<void> {
    await destroyCollectiveGroup(this.groupName);
  }

  die(): void {
    process.exit(1);
  }
}

const MemberActor = remote(Member, { numCpus: 0 });
type Handle = ActorHandle<Member>;

async function newGroup(worldSize: number, options: { groupName?: string; timeoutMs?: number } = {}): Promise<Handle[]> {
  const members = Array.from({ length: worldSize }, () => MemberActor.remote());
  const { groupName = "default", timeoutMs } = options;
  const join = (member: Handle, rank: number) => member.init.remote(rank, worldSize, groupName, timeoutMs);
  const [first, ...others] = members as [Handle, ...Handle[]];
  // The first member founds the group, which ends with that process: here rank 0, which no test kills.
  const founding = join(first, 0);
  await until(() => isFounded(groupName), "the group to be founded");
  await get([founding, ...others.map((member, i) => join(member, i + 1))]);
  return members;
}

async function isFounded(groupName: string): Promise<boolean> {
  try {
    (await getActor(`collective group ${groupName}`))[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
}

/** Calls every member; returns the results by rank. */
function all<T>(members: readonly Handle[], call: (member: Handle, rank: number) => PromiseLike<T>): Promise<T[]> {
  return Promise.all(members.map((member, rank) => call(member, rank)));
}

function dispose(members: readonly Handle[]): void {
  for (const member of members) member[Symbol.dispose]();
}

const SMALL = 10;
/** Not divisible by three, and each part is large enough for shared memory. */
const LARGE = 100_001;

describe.each(["process", "inProcess"] as const)("mode %s", (mode) => {
  useSession({ numCpus: 2, mode });

  test.each([2, 3])("every operation, among %i members", async (worldSize) => {
    const members = await newGroup(worldSize, { groupName: `operations ${worldSize}` });
    const ranks = Array.from({ length: worldSize }, (_, rank) => rank);
    for (const length of [SMALL, LARGE]) {
      const of = (element: (index: number) => number): Float64Array => Float64Array.from({ length }, (_, index) => element(index));
      const sum = of((index) => ranks.reduce((total, rank) => total + valueOf(rank, index), 0));
      const own = (rank: number): Float64Array => of((index) => valueOf(rank, index));

      for (const reduced of await all(members, (member) => member.allreduce.remote(length))) expect(reduced).toEqual(sum);
      for (const reduced of await all(members, (member) => member.allreduce.remote(length, "average"))) {
        expect(reduced).toEqual(sum.map((value) => value / worldSize));
      }
      for (const reduced of await all(members, (member) => member.allreduce.remote(length, "max")))
        expect(reduced).toEqual(own(worldSize - 1));

      const root = worldSize - 1;
      const atRoot = await all(members, (member) => member.reduce.remote(length, root));
      for (const rank of ranks) expect(atRoot[rank]).toEqual(rank === root ? sum : own(rank));

      const scattered = await all(members, (member) => member.reduceScatter.remote(length));
      expect(scattered.flatMap((part) => Array.from(part))).toEqual(Array.from(sum));
      const lengths = scattered.map((part) => part.length);
      expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);

      for (const gathered of await all(members, (member) => member.allgather.remote(length))) expect(gathered).toEqual(ranks.map(own));
      for (const copied of await all(members, (member) => member.broadcast.remote(length, 1))) expect(copied).toEqual(own(1));

      const passedOn = await all(members, (member) => member.ring.remote(length));
      for (const rank of ranks) {
        const before = (distance: number): Float64Array => own((rank + 2 * worldSize - distance) % worldSize);
        expect(passedOn[rank]).toEqual([before(1), before(2)]);
      }
    }
    dispose(members);
  });

  test("every kind of typed array", async () => {
    const members = await newGroup(2, { groupName: "kinds" });
    for (const length of [4, 50_000]) {
      for (const Kind of [
        Int8Array,
        Uint8Array,
        Uint8ClampedArray,
        Int16Array,
        Uint16Array,
        Int32Array,
        Uint32Array,
        Float32Array,
        Float64Array,
      ]) {
        const arrays = [3, 5].map((value) => new Kind(length).fill(value));
        const reduced = await all(members, (member, rank) => member.allreduceOf.remote(arrays[rank] as NumericArray, "product"));
        for (const result of reduced) expect(result).toEqual(new Kind(length).fill(15));
      }
      for (const Kind of [BigInt64Array, BigUint64Array]) {
        const arrays = [3n, 5n].map((value) => new Kind(length).fill(value));
        const reduced = await all(members, (member, rank) => member.allreduceOf.remote(arrays[rank] as NumericArray, "min"));
        for (const result of reduced) expect(result).toEqual(new Kind(length).fill(3n));
      }
    }
    for (const length of [SMALL, LARGE]) {
      // The sum of 200 and 150 does not fit into a byte, and the fraction of -2.5 is dropped.
      for (const [Kind, values, average] of [
        [Uint8Array, [200, 151], 175],
        [Int32Array, [-2, -3], -2],
      ] as const) {
        const arrays = values.map((value) => new Kind(length).fill(value));
        const reduced = await all(members, (member, rank) => member.allreduceOf.remote(arrays[rank] as NumericArray, "average"));
        for (const result of reduced) expect(result).toEqual(new Kind(length).fill(average));
      }
    }
    const error = await failureOf(members[0]?.allreduceOf.remote(new BigInt64Array(2), "average") as PromiseLike<unknown>);
    expect(error.message).toContain("Cannot average bigints");
    dispose(members);
  });

  test("a barrier holds all back until the last has come", async () => {
    const members = await newGroup(2, { groupName: "barrier" });
    const first = members[0]?.barrierAt.remote() as PromiseLike<number>;
    await new Promise((resolve) => setTimeout(resolve, 100));
    const before = Date.now();
    const times = await Promise.all([first, members[1]?.barrierAt.remote() as PromiseLike<number>]);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(before);
    dispose(members);
  });

  test("a group that is created for its members is joined at first use", async () => {
    const members = [MemberActor.remote(), MemberActor.remote()];
    await createCollectiveGroup(members, { groupName: "declared", ranks: [1, 0] });
    expect(await all(members, (member) => member.lazy.remote("declared"))).toEqual([
      [1, 2, 0, 1],
      [0, 2, 0, 1],
    ]);
    expect(await all(members, (member) => member.allreduce.remote(1))).toEqual([new Float64Array([30]), new Float64Array([30])]);
    expect(await failureOf(createCollectiveGroup(members, { groupName: "declared" }))).toBeInstanceOf(CollectiveError);
    const stranger = MemberActor.remote();
    expect(await failureOf(stranger.lazy.remote("declared"))).toMatchObject({ code: "COLLECTIVE_FAILED" });
    await destroyCollectiveGroup("declared");
    expect(await failureOf(stranger.lazy.remote("declared"))).toMatchObject({ reason: "no group has that name" });
    await expect(createCollectiveGroup(members, { ranks: [0, 0] })).rejects.toThrow(RangeError);
    await expect(createCollectiveGroup([], {})).rejects.toThrow(TypeError);
    dispose([...members, stranger]);
  });

  test("members that do not do the same all hear of it, and can go on", async () => {
    const members = await newGroup(2, { groupName: "mismatch" });
    const failures = await all(members, (member, rank) => failureOf(member.allreduce.remote(SMALL + rank)));
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(CollectiveError);
      expect(failure.message).toContain(`Float64Array(${SMALL})`);
      expect(failure.message).toContain(`Float64Array(${SMALL + 1})`);
    }
    expect(await all(members, (member) => member.allreduce.remote(1))).toEqual([new Float64Array([30]), new Float64Array([30])]);
    dispose(members);
  });

  test("one that does not come in time fails the group, which begins anew when all join again", async () => {
    const members = await newGroup(2, { groupName: "late" });
    const failure = await failureOf(members[0]?.barrierAt.remote(50) as PromiseLike<unknown>);
    expect(failure).toMatchObject({ code: "COLLECTIVE_FAILED", details: { missing: [1], timeoutMs: 50 } });
    expect(await failureOf(members[1]?.barrierAt.remote() as PromiseLike<unknown>)).toBeInstanceOf(CollectiveError);
    await get(members.map((member, rank) => member.init.remote(rank, 2, "late")));
    expect(await all(members, (member) => member.allreduce.remote(1))).toEqual([new Float64Array([30]), new Float64Array([30])]);
    await members[0]?.destroy.remote();
    expect(await failureOf(members[1]?.barrierAt.remote() as PromiseLike<unknown>)).toMatchObject({
      message: expect.stringContaining("rank 0 has left"),
    });
    dispose(members);
  });

  test("bad arguments are refused before anybody waits", async () => {
    await expect(initCollectiveGroup({ worldSize: 2, rank: 2 })).rejects.toThrow(RangeError);
    await expect(initCollectiveGroup({ worldSize: 0, rank: 0 })).rejects.toThrow(RangeError);
    await expect(initCollectiveGroup({ worldSize: 1, rank: 0, backend: "gloo" } as never)).rejects.toThrow(TypeError);
    const alone = await initCollectiveGroup({ worldSize: 1, rank: 0, groupName: "alone" });
    expect(await alone.allreduce(new Float32Array([1, 2]), { op: "average" })).toEqual(new Float32Array([1, 2]));
    expect(await alone.allreduce(new Float32Array(50_000))).toHaveLength(50_000);
    await expect(alone.allreduce([1] as never)).rejects.toThrow(TypeError);
    await expect(alone.allreduce(new Float32Array(1), { op: "mean" as never })).rejects.toThrow(RangeError);
    await expect(alone.broadcast(new Float32Array(1), { root: 1 })).rejects.toThrow(RangeError);
    await expect(alone.send(new Float32Array(1), 0)).rejects.toThrow(RangeError);
    await destroyCollectiveGroup("alone");
  });
});

describe("processes", () => {
  useSession({ numCpus: 2 });

  test("the death of a member fails the others within seconds", async () => {
    const members = await newGroup(3, { groupName: "death" });
    const waiting = [0, 1].map((rank) => failureOf(members[rank]?.barrierAt.remote() as PromiseLike<unknown>));
    await kill(members[2] as Handle);
    for (const failure of await Promise.all(waiting)) {
      expect(failure).toMatchObject({ code: "COLLECTIVE_FAILED", reason: "a member died", details: { dead: [2] } });
    }
    dispose(members);
  });

  test("large operations one after the other leave no memory behind", async () => {
    const members = await newGroup(2, { groupName: "memory" });
    const length = 1_000_000;
    expect(await all(members, (member) => member.repeat.remote(length, 20))).toEqual([1, 1]);
    await until(async () => (await storeUsedBytes()) === 0, "the store to be empty");
    dispose(members);
  });
});
