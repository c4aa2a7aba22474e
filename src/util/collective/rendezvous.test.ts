import { expect, test } from "vitest";
import { CollectiveError } from "./collective-error.ts";
import { type Joining, type Meeting, type Part, Rendezvous } from "./rendezvous.ts";

function joining(rank: number, options: Partial<Joining> = {}): Joining {
  return { identity: `actor ${rank}/worker`, actorId: undefined, pid: 1, rank, worldSize: 2, timeoutMs: 60_000, ...options };
}

function meeting(rank: number, options: Partial<Meeting> = {}): Meeting {
  return { generation: 1, key: "all 1", rank, parties: [0, 1], signature: "barrier", timeoutMs: 60_000, ...options };
}

async function joined(): Promise<Rendezvous> {
  const rendezvous = new Rendezvous();
  await Promise.all([rendezvous.join(joining(0)), rendezvous.join(joining(1))]);
  return rendezvous;
}

/** Returns a rejection or a throw, as a call of the actor has it. */
async function failureOf(call: () => Promise<unknown>): Promise<Error> {
  return (async () => call())().then(
    () => {
      throw new Error("it was fulfilled");
    },
    (error: unknown) => error as Error,
  );
}

function value(part: Part): unknown {
  return part !== undefined && "inline" in part ? part.inline : undefined;
}

test("a join resolves when all have joined", async () => {
  const rendezvous = new Rendezvous();
  const first = rendezvous.join(joining(0));
  const second = rendezvous.join(joining(1));
  expect(await Promise.all([first, second])).toEqual([
    { generation: 1, rank: 0, worldSize: 2 },
    { generation: 1, rank: 1, worldSize: 2 },
  ]);
});

test("another member cannot take a rank, and sizes must agree", async () => {
  const rendezvous = new Rendezvous();
  void rendezvous.join(joining(0)).catch(() => {});
  expect((await failureOf(() => rendezvous.join(joining(0, { identity: "another" })))).message).toContain("rank 0 is taken");
  expect((await failureOf(() => rendezvous.join(joining(1, { worldSize: 3 })))).message).toContain("its size is 2: received 3");
  const complete = await joined();
  expect((await failureOf(() => complete.join(joining(2, { worldSize: 2 })))).message).toContain("it is complete");
});

test("each party gets what is meant for it", async () => {
  const rendezvous = await joined();
  const first = rendezvous.exchange(meeting(0), [undefined, { inline: "for 1" }]);
  const second = rendezvous.exchange(meeting(1), [{ inline: "for all" }]);
  expect((await first).map(value)).toEqual([undefined, "for all"]);
  expect((await second).map(value)).toEqual(["for 1"]);
});

test("exchanges of different names do not meet", async () => {
  const rendezvous = await joined();
  const late = rendezvous.exchange(meeting(0, { key: "all 2" }), [{ inline: "second" }]);
  const early = rendezvous.exchange(meeting(0), [{ inline: "first" }]);
  expect(value((await rendezvous.exchange(meeting(1), []))[0])).toBe("first");
  expect(value((await rendezvous.exchange(meeting(1, { key: "all 2" }), []))[0])).toBe("second");
  await Promise.all([early, late]);
});

test("parties that do different things all fail, and the next exchange does not", async () => {
  const rendezvous = await joined();
  const first = failureOf(() => rendezvous.exchange(meeting(0, { signature: "broadcast" }), []));
  const second = failureOf(() => rendezvous.exchange(meeting(1, { signature: "allreduce" }), []));
  for (const failure of [await first, await second]) {
    expect(failure).toBeInstanceOf(CollectiveError);
    expect(failure.message).toContain("one does broadcast, rank 1 does allreduce");
  }
  await Promise.all([rendezvous.exchange(meeting(0), []), rendezvous.exchange(meeting(1), [])]);
});

test("who is late ends the generation, and joining again begins the next", async () => {
  const rendezvous = await joined();
  expect(await failureOf(() => rendezvous.exchange(meeting(0, { timeoutMs: 1 }), []))).toMatchObject({ details: { missing: [1] } });
  expect(await failureOf(() => rendezvous.exchange(meeting(1), []))).toMatchObject({ details: { missing: [1] } });
  const seats = await Promise.all([rendezvous.join(joining(1)), rendezvous.join(joining(0))]);
  expect(seats.map((seat) => seat.generation)).toEqual([2, 2]);
  expect((await failureOf(() => rendezvous.exchange(meeting(0), []))).message).toContain("begun anew");
});

test("a member that joins again ends the generation for those who wait", async () => {
  const rendezvous = await joined();
  const waiting = failureOf(() => rendezvous.exchange(meeting(0), []));
  const again = rendezvous.join(joining(1));
  expect((await waiting).message).toContain("rank 1 has joined anew");
  expect((await rendezvous.join(joining(0))).generation).toBe(2);
  expect((await again).generation).toBe(2);
});

test("a member that leaves fails those who wait", async () => {
  const rendezvous = await joined();
  const waiting = failureOf(() => rendezvous.exchange(meeting(0), []));
  rendezvous.leave(1, 1);
  expect((await waiting).message).toContain("rank 1 has left it");
});

test("a join that the others do not follow in time fails", async () => {
  const rendezvous = new Rendezvous();
  expect(await failureOf(() => rendezvous.join(joining(0, { timeoutMs: 1 })))).toMatchObject({ details: { missing: [1] } });
});

test("a declared group knows its members by their actors", async () => {
  const rendezvous = new Rendezvous();
  rendezvous.declare(
    new Map([
      ["a", 1],
      ["b", 0],
    ]),
  );
  expect(() => rendezvous.declare(new Map())).toThrow("there is one of that name");
  const unknown = joining(0, { actorId: "c", rank: undefined, worldSize: undefined });
  expect((await failureOf(() => rendezvous.join(unknown))).message).toContain("not one of its members");
  const seats = await Promise.all(
    ["a", "b"].map((actorId) => rendezvous.join(joining(0, { identity: actorId, actorId, rank: undefined, worldSize: undefined }))),
  );
  expect(seats.map((seat) => seat.rank)).toEqual([1, 0]);
  expect((await failureOf(() => new Rendezvous().join(joining(0, { rank: undefined, worldSize: undefined })))).message).toContain(
    "not been created",
  );
});
