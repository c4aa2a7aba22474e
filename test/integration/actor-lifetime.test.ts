/**
 * When an actor begins, where it is placed, under which name it is found, and what ends it.
 */
import {
  ActorDiedError,
  ActorUnavailableError,
  availableResources,
  get,
  getActor,
  getRuntimeContext,
  GetTimeoutError,
  init,
  kill,
  ready,
  remote,
  shutdown,
  terminate,
} from "shoal";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { eventually, isAlive } from "./sandbox.ts";
import { driverRuntime, failureOf } from "./session.ts";

beforeAll(async () => {
  await init({ numCpus: 2, namespace: "tests" });
});
afterAll(() => shutdown());

class Cell {
  #value = 0;
  set(value: number): number {
    this.#value = value;
    return value;
  }
  get(): number {
    return this.#value;
  }
  pid(): number {
    return process.pid;
  }
  wasRestarted(): boolean {
    return getRuntimeContext().wasCurrentActorReconstructed;
  }
  async hang(): Promise<void> {
    await new Promise(() => setInterval(() => {}, 1000));
  }
  async slow(value: number): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return value;
  }
  end(): void {
    process.kill(process.pid, "SIGKILL");
  }
  endOnce(): string {
    if (!getRuntimeContext().wasCurrentActorReconstructed) process.kill(process.pid, "SIGKILL");
    return "done";
  }
}

const RemoteCell = remote(Cell);

test("ready resolves when the constructor has run", async () => {
  const actor = RemoteCell.remote();
  await ready(actor);
  await ready(actor, { timeoutMs: 0 });
});

test("an actor that finds no room keeps waiting, and ready says so in time", async () => {
  const actor = remote(Cell, { numCpus: 2000 }).remote();
  expect(await failureOf(ready(actor, { timeoutMs: 20 }))).toBeInstanceOf(GetTimeoutError);
  const call = actor.get.remote();
  await kill(actor);
  expect(await failureOf(call)).toBeInstanceOf(ActorDiedError);
});

test("an actor that a task has created outlives actors that came after it", async () => {
  const cell = await remote(() => remote(Cell, { numCpus: 0 }).remote()).remote();
  expect(await cell.set.remote(3)).toBe(3);
  for (let count = 0; count < 4; count += 1) {
    const other = remote(Cell, { numCpus: 0 }).remote();
    await ready(other);
    await kill(other);
  }
  expect(await cell.get.remote()).toBe(3);
});

test("the end of a handle with `using` answers the calls made before and ends the process", async () => {
  const actor = RemoteCell.remote();
  const pid = await actor.pid.remote();
  const answers = [actor.slow.remote(1), actor.slow.remote(2)];
  actor[Symbol.dispose]();
  expect(await get(answers)).toEqual([1, 2]);
  expect(await eventually(() => !isAlive(pid))).toBe(true);
});

test("terminate answers the calls made before, ends the process, and can be repeated", async () => {
  const actor = RemoteCell.remote();
  const pid = await actor.pid.remote();
  const answer = actor.slow.remote(7);
  await terminate(actor);
  expect(await answer).toBe(7);
  expect(isAlive(pid)).toBe(false);
  const error = await failureOf(actor.get.remote());
  expect(error).toBeInstanceOf(ActorDiedError);
  expect(error.message).toContain("terminated");
  await terminate(actor);
});

test("kill ends the process at once and fails what was under way", async () => {
  const actor = RemoteCell.remote();
  const pid = await actor.pid.remote();
  const [running, queued] = [actor.hang.remote(), actor.get.remote()];
  await kill(actor);
  expect(await eventually(() => !isAlive(pid))).toBe(true);
  for (const ref of [running, queued, actor.get.remote()]) {
    const error = await failureOf(ref);
    expect(error).toBeInstanceOf(ActorDiedError);
    expect(error.message).toContain("kill");
  }
  await kill(actor);
});

test("kill with a restart brings the actor back without its state", async () => {
  const actor = remote(Cell, { maxRestarts: 1 }).remote();
  await actor.set.remote(5);
  const pid = await actor.pid.remote();
  await kill(actor, { noRestart: false });
  expect(await eventually(() => !isAlive(pid))).toBe(true);
  const value = await eventually(
    async () =>
      await actor.get.remote().then(
        (found) => found === 0,
        () => false,
      ),
  );
  expect(value).toBe(true);
  expect(await actor.wasRestarted.remote()).toBe(true);
  await kill(actor);
});

test("kill resolves when the process is gone, also with a restart: what follows meets the next life", async () => {
  const actor = remote(Cell, { maxRestarts: -1 }).remote();
  for (let life = 0; life < 5; life += 1) {
    const pid = await actor.pid.remote();
    await kill(actor, { noRestart: life === 4 });
    expect(isAlive(pid)).toBe(false);
    if (life < 4) expect(await actor.pid.remote()).not.toBe(pid);
  }
});

test("an actor that kills itself is restarted as often as maxRestarts says", async () => {
  const actor = remote(Cell, { maxRestarts: 1 }).remote();
  await actor.set.remote(5);
  const first = await failureOf(actor.end.remote());
  expect(first).toBeInstanceOf(ActorUnavailableError);
  expect(first).toHaveProperty("signal", "SIGKILL");
  expect(first.message).toContain("(it was ended by SIGKILL)");
  expect(await actor.get.remote()).toBe(0);
  const second = await failureOf(actor.end.remote());
  expect(second).toBeInstanceOf(ActorDiedError);
  expect(second).toHaveProperty("signal", "SIGKILL");
  expect(await failureOf(actor.get.remote())).toBeInstanceOf(ActorDiedError);
});

test("calls that had not been sent when the actor died wait for its next life", async () => {
  const actor = remote(Cell, { maxRestarts: -1 }).remote();
  for (let round = 0; round < 3; round += 1) {
    const end = actor.end.remote();
    expect(await failureOf(end)).toBeInstanceOf(ActorUnavailableError);
    expect(await actor.set.remote(round)).toBe(round);
  }
  await kill(actor);
});

test("a call that the actor died under is repeated as maxTaskRetries says", async () => {
  const actor = remote(Cell, { maxRestarts: 1, maxTaskRetries: 1 }).remote();
  const calls = [actor.endOnce.remote(), actor.set.remote(3), actor.get.remote()] as const;
  expect(await get(calls)).toEqual(["done", 3, 3]);
  await kill(actor);
});

test("a named actor is found in its namespace and nowhere else", async () => {
  const actor = remote(Cell, { name: "cell" }).remote();
  await actor.set.remote(9);
  const found = await getActor<Cell>("cell");
  expect(await found.get.remote()).toBe(9);
  expect(await (await getActor<Cell>("cell", { namespace: "tests" })).get.remote()).toBe(9);
  const elsewhere = await failureOf(getActor("cell", { namespace: "other" }));
  expect(elsewhere).toBeInstanceOf(ActorDiedError);
  expect(elsewhere.message).toContain('one of that name is in namespace "tests": give it as the option namespace');
  const unknown = await failureOf(getActor("sell"));
  expect(unknown.message).toContain('"sell"');
  expect(unknown.message).toContain("cell");
  await expect(getActor("")).rejects.toThrow(TypeError);
  const inTask = remote(async () => await (await getActor<Cell>("cell")).get.remote());
  expect(await inTask.remote()).toBe(9);
  const second = await failureOf(remote(Cell, { name: "cell" }).remote().get.remote());
  expect(second.message).toContain('"cell"');
  expect(second).toBeInstanceOf(ActorDiedError);
  expect(second).toMatchObject({ code: "ACTOR_NAME_TAKEN", hint: expect.stringContaining("getIfExists") });
  await terminate(actor);
  await expect(getActor("cell")).rejects.toThrow(ActorDiedError);
  const again = remote(Cell, { name: "cell" }).remote();
  expect(await again.get.remote()).toBe(0);
  await kill(again);
});

test("who has found a named actor finds it again without asking, and after its death asks again", async () => {
  const { daemon } = driverRuntime();
  const actor = remote(Cell, { name: "known" }).remote();
  await actor.set.remote(5);
  const asked = vi.spyOn(daemon, "request");
  const found = await Promise.all([getActor<Cell>("known"), getActor<Cell>("known")]);
  asked.mockClear();
  for (let again = 0; again < 10; again++) found.push(await getActor<Cell>("known"));
  expect(asked).not.toHaveBeenCalled();
  expect(await get(found.map((handle) => handle.get.remote()))).toEqual(new Array(12).fill(5));
  // Not by this process, which would know at once.
  const killer = remote(async () => await kill(await getActor("known")));
  await killer.remote();
  const isKnownToBeDead = (): Promise<boolean> =>
    getActor("known").then(
      () => false,
      (error: unknown) => error instanceof ActorDiedError,
    );
  expect(await eventually(isKnownToBeDead)).toBe(true);
  const successor = remote(Cell, { name: "known" }).remote();
  expect(await successor.get.remote()).toBe(0);
  expect(await (await getActor<Cell>("known")).get.remote()).toBe(0);
  void kill(successor);
  await expect(getActor("known")).rejects.toThrow(ActorDiedError);
});

test("getIfExists makes one actor, whoever asks first", async () => {
  const Shared = remote(Cell, { name: "shared", getIfExists: true });
  const here = [1, 2, 3].map(() => Shared.remote());
  const inTask = remote(async () => {
    const actor = Shared.remote();
    return await actor.pid.remote();
  });
  const pids = await get([...here.map((actor) => actor.pid.remote()), ...[1, 2, 3].map(() => inTask.remote())]);
  expect(new Set(pids).size).toBe(1);
  await kill(here[0] as (typeof here)[0]);
});

test("a handle from getIfExists can be passed on at once, whether it made the actor or not", async () => {
  const Shared = remote(Cell, { name: "passed on", getIfExists: true });
  const first = Shared.remote();
  await first.set.remote(5);
  const read = remote(async (cell: { get: { remote(): PromiseLike<number> } }) => await cell.get.remote());
  expect(await read.remote(Shared.remote())).toBe(5);
  await kill(first);
});

test("a handle works before the arguments of the constructor are there, also when its task has ended", async () => {
  class Late {
    readonly #value: number;
    constructor(value: number) {
      this.#value = value;
    }
    get(): number {
      return this.#value;
    }
  }
  const slow = remote(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return 3;
  });
  const make = remote(() => [remote(Late).remote(slow.remote())]);
  const [actor] = await make.remote();
  expect(await actor?.get.remote()).toBe(3);
});

test("actors hold the CPUs that they ask for, and by default none", async () => {
  expect(await eventually(async () => (await availableResources()).CPU === 2)).toBe(true);
  const light = [1, 2, 3].map(() => RemoteCell.remote());
  await get(light.map((actor) => actor.get.remote()));
  expect((await availableResources()).CPU).toBe(2);
  const Heavy = remote(Cell, { numCpus: 1 });
  const [first, second, third] = [Heavy.remote(), Heavy.remote(), Heavy.remote()];
  await Promise.all([ready(first), ready(second)]);
  expect((await availableResources()).CPU).toBe(0);
  const waiting = third.pid.remote();
  await terminate(first);
  expect(await waiting).toBeGreaterThan(0);
  await Promise.all([terminate(second), terminate(third), ...light.map((actor) => terminate(actor))]);
  expect(await eventually(async () => (await availableResources()).CPU === 2)).toBe(true);
});

test("an actor that a task made lives as long as somebody else holds it", async () => {
  const make = remote(() => [remote(Cell).remote()]);
  const [actor] = await make.remote();
  expect(await actor?.set.remote(4)).toBe(4);
  expect(await actor?.get.remote()).toBe(4);
});

test("an actor that a task made for itself ends with the task", async () => {
  const work = remote(async () => {
    const actor = remote(Cell).remote();
    return await actor.pid.remote();
  });
  const pid = await work.remote();
  expect(await eventually(() => !isAlive(pid))).toBe(true);
});

test("an actor that an actor made ends with its creator", async () => {
  class Parent {
    #child = remote(Cell).remote();
    async child(): Promise<number> {
      return await this.#child.pid.remote();
    }
  }
  const parent = remote(Parent).remote();
  const pid = await parent.child.remote();
  expect(isAlive(pid)).toBe(true);
  await kill(parent);
  expect(await eventually(() => !isAlive(pid))).toBe(true);
});
