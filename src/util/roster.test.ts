import { expect, test } from "vitest";
import { ActorDiedError } from "../core/index.ts";
import { Roster } from "./roster.ts";

interface Member {
  name: string;
  isDead: boolean;
}

function rosterOf(...names: string[]): { roster: Roster<Member>; members: Member[] } {
  const roster = new Roster<Member>({ isDead: async (member) => member.isDead });
  const members = names.map((name) => ({ name, isDead: false }));
  for (const member of members) roster.add(member);
  return { roster, members };
}

test("a job goes to a free member, and waits for one when none is", async () => {
  const { roster } = rosterOf("a", "b");
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const begun: string[] = [];
  const tickets = gates.map((gate, job) =>
    roster.run(async (member) => {
      begun.push(`${job} with ${member.name}`);
      await gate.promise;
      return job;
    }),
  );
  expect(begun).toEqual(["0 with a", "1 with b"]);
  expect(roster.waitingCount).toBe(1);
  gates[1]?.resolve();
  expect(await tickets[1]?.result).toBe(1);
  expect(begun).toEqual(["0 with a", "1 with b", "2 with b"]);
  gates[0]?.resolve();
  gates[2]?.resolve();
  expect(await Promise.all(tickets.map((ticket) => ticket.result))).toEqual([0, 1, 2]);
  expect(roster.freeCount).toBe(2);
});

test("a job that was dropped in line is never begun", async () => {
  const { roster } = rosterOf("a");
  const gate = Promise.withResolvers<void>();
  const first = roster.run(() => gate.promise);
  let hasBegun = false;
  const dropped = roster.run(() => {
    hasBegun = true;
  });
  dropped.drop();
  await expect(dropped.result).rejects.toThrow("dropped");
  const last = roster.run(() => "last");
  gate.resolve();
  await first.result;
  expect(await last.result).toBe("last");
  expect(hasBegun).toBe(false);
});

test("a failed job frees its member", async () => {
  const { roster } = rosterOf("a");
  const failed = roster.run(() => {
    throw new RangeError("no");
  });
  await expect(failed.result).rejects.toThrow("no");
  expect(await roster.run((member) => member.name).result).toBe("a");
});

test("a member that died leaves, and the others go on", async () => {
  const { roster, members } = rosterOf("a", "b");
  const failed = roster.run((member) => {
    member.isDead = true;
    throw new ActorDiedError("gone");
  });
  await expect(failed.result).rejects.toThrow("gone");
  expect([...roster]).toEqual([members[1]]);
  expect(await roster.run((member) => member.name).result).toBe("b");
});

test("the death of another actor, which the job had called, costs no member", async () => {
  const { roster } = rosterOf("a");
  await expect(
    roster.run(() => {
      throw new ActorDiedError("somebody else");
    }).result,
  ).rejects.toThrow("somebody else");
  expect(roster.size).toBe(1);
});

test("when all have died, what waits and what comes fails with the cause, until one is added", async () => {
  const { roster } = rosterOf("a");
  const cause = new ActorDiedError("gone");
  const first = roster.run((member) => {
    member.isDead = true;
    throw cause;
  });
  const waiting = roster.run(() => 1);
  await expect(first.result).rejects.toBe(cause);
  await expect(waiting.result).rejects.toMatchObject({ code: "ACTOR_DIED", cause });
  await expect(roster.run(() => 2).result).rejects.toMatchObject({ cause });
  roster.add({ name: "new", isDead: false });
  expect(await roster.run((member) => member.name).result).toBe("new");
});

test("without members jobs wait for the first", async () => {
  const { roster } = rosterOf();
  const waiting = roster.run((member) => member.name);
  roster.add({ name: "first", isDead: false });
  expect(await waiting.result).toBe("first");
});
