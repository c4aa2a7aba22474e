/**
 * Ends that an actor chooses, its last work, and actors that outlive their makers.
 */
import { appendFileSync } from "node:fs";
import { ActorDiedError, type ActorHandle, actors, exitActor, get, getActor, kill, ready, remote, terminate } from "shoal";
import { describe, expect, test } from "vitest";
import { collectGarbage, failureOf, isAlive, Log, until, useFolder, useSession } from "./session.ts";

class Guest {
  readonly #file: string;
  constructor(file: string, leavesAtOnce = false) {
    this.#file = file;
    if (leavesAtOnce) exitActor();
  }
  stay(): number {
    return process.pid;
  }
  leave(): void {
    const inner = (): never => exitActor();
    inner();
  }
  async leaveLater(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 10));
    await Promise.resolve().then(() => exitActor());
  }
  leaveStubbornly(): string {
    try {
      exitActor();
    } catch {
      return "caught";
    }
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 20));
    appendFileSync(this.#file, "disposed\n");
  }
}

class Fixed {
  value(): number {
    return 7;
  }
  pid(): number {
    return process.pid;
  }
}

describe.each(["process", "inProcess"] as const)("in mode %s", (mode) => {
  useSession({ numCpus: 2, mode });
  const folder = useFolder();

  test.each(["leave", "leaveLater", "leaveStubbornly"] as const)("exitActor ends the actor in %s", async (method) => {
    const log = new Log(folder);
    const guest = remote(Guest, { maxRestarts: 3, maxTaskRetries: 3 }).remote(log.file);
    await ready(guest);
    const calls = [guest[method].remote(), guest.stay.remote()];
    for (const call of calls) {
      const error = await failureOf(call);
      expect(error).toBeInstanceOf(ActorDiedError);
      expect(error.message).toContain("it called exitActor()");
    }
    expect(log.lines).toEqual(["disposed"]);
    expect((await failureOf(guest.stay.remote())).message).toContain("exitActor");
  });

  test("exitActor in a constructor ends the actor, and outside of actors it is refused", async () => {
    const guest = remote(Guest).remote(new Log(folder).file, true);
    expect((await failureOf(guest.stay.remote())).message).toContain("it called exitActor()");
    expect(() => exitActor()).toThrow(TypeError);
    expect((await failureOf(remote(() => exitActor()).remote())).cause).toBeInstanceOf(TypeError);
  });

  test("the dispose method runs at terminate and when the last handle goes, and not at kill", async () => {
    const log = new Log(folder);
    const RemoteGuest = remote(Guest);
    await terminate(RemoteGuest.remote(log.file));
    expect(log.lines).toEqual(["disposed"]);
    {
      using guest = RemoteGuest.remote(log.file);
      await guest.stay.remote();
    }
    await until(() => log.lines.length === 2, "the second dispose");
    const killed = RemoteGuest.remote(log.file);
    await ready(killed);
    await kill(killed);
    expect(log.lines.length).toBe(2);
  });

  test("a dispose method that fails ends the actor all the same", async () => {
    class Broken {
      [Symbol.dispose](): void {
        throw new Error("no end");
      }
      work(): number {
        return 1;
      }
    }
    const broken = remote(Broken).remote();
    expect(await broken.work.remote()).toBe(1);
    await terminate(broken);
  });

  test("actors lists them, the dead on request", async () => {
    const named = remote(Fixed, { name: "listed", namespace: "elsewhere" }).remote();
    await ready(named);
    const [info] = await actors({ namespace: "elsewhere" });
    expect(info).toMatchObject({
      className: "Fixed",
      name: "listed",
      phase: "alive",
      lifetime: "non_detached",
      restarts: 0,
      incarnation: 0,
    });
    expect(info?.pid).toBe(await named.pid.remote());
    await kill(named);
    expect(await actors({ namespace: "elsewhere" })).toEqual([]);
    const [dead] = await actors({ namespace: "elsewhere", includeDead: true });
    expect(dead).toMatchObject({ actorId: info?.actorId, phase: "dead", reason: "it was killed by kill()" });
    await expect(actors({ all: true } as object)).rejects.toThrow(TypeError);
  });

  test("a handle that was passed on before the actor was found keeps that actor", async () => {
    const Shared = remote(Fixed, { name: "found", getIfExists: true });
    const first = Shared.remote();
    const pid = await first.pid.remote();
    const make = remote(() => [Shared.remote()]);
    const passed = (await make.remote())[0] as ActorHandle<Fixed>;
    first[Symbol.dispose]();
    await collectGarbage();
    // Several turns through the daemon: enough for the actor to end, if nobody held it.
    for (let turn = 0; turn < 5; turn += 1) await actors();
    expect(await passed.pid.remote()).toBe(pid);
    passed[Symbol.dispose]();
    await until(async () => (await actors()).every(({ name }) => name !== "found"), "the actor to end with its last handle");
  });

  test("a name is free as soon as its actor begins to end", async () => {
    const Slow = remote(Guest, { name: "short-lived", getIfExists: true });
    const log = new Log(folder);
    const first = Slow.remote(log.file);
    await ready(first);
    const ended = terminate(first);
    await until(
      async () =>
        await getActor("short-lived").then(
          () => false,
          () => true,
        ),
      "the name to be free",
    );
    const second = Slow.remote(log.file);
    expect(await second.stay.remote()).toBeGreaterThan(0);
    await ended;
    await kill(second);
  });
});

describe("detached actors", () => {
  useSession({ numCpus: 2 });

  class Service {
    readonly #numbers: Float64Array;
    constructor(numbers: Float64Array) {
      this.#numbers = numbers;
    }
    sum(): number {
      return this.#numbers.reduce((sum, value) => sum + value, 0);
    }
    pid(): number {
      return process.pid;
    }
    die(): void {
      process.kill(process.pid, "SIGKILL");
    }
  }
  const RemoteService = remote(Service, { lifetime: "detached", maxRestarts: -1 });

  test("outlive the actor that made them, with what their constructor was given", async () => {
    class Maker {
      async make(): Promise<number> {
        // Large enough to lie in the shared memory of the process that ends.
        const service = RemoteService.options({ name: "service" }).remote(new Float64Array(50_000).fill(2));
        return await service.pid.remote();
      }
      pid(): number {
        return process.pid;
      }
    }
    const maker = remote(Maker).remote();
    const [pid, makerPid] = [await maker.make.remote(), await maker.pid.remote()];
    await kill(maker);
    await until(() => !isAlive(makerPid), "the maker to be gone");
    expect(isAlive(pid)).toBe(true);
    const service = await getActor<Service>("service");
    expect(await service.sum.remote()).toBe(100_000);
    await failureOf(service.die.remote());
    expect(await service.sum.remote()).toBe(100_000);
    expect(await actors()).toMatchObject([{ name: "service", lifetime: "detached", restarts: 1 }]);
    service[Symbol.dispose]();
    expect(await (await getActor<Service>("service")).sum.remote()).toBe(100_000);
    await kill(await getActor("service"));
    await expect(getActor("service")).rejects.toThrow(ActorDiedError);
  });

  test("need a name", () => {
    expect(() => RemoteService.remote(new Float64Array(1))).toThrow(
      new TypeError('Cannot create actor Service: with lifetime "detached" it needs the option name, by which it is found again'),
    );
  });

  test("outlive the task that made them, and the end of the handle", async () => {
    const make = remote(async () => {
      const service = RemoteService.options({ name: "from a task" }).remote(new Float64Array(1));
      const made = await service.pid.remote();
      service[Symbol.dispose]();
      return made;
    });
    const pid = await make.remote();
    for (let turn = 0; turn < 5; turn += 1) await actors();
    expect(isAlive(pid)).toBe(true);
    const service = await getActor<Service>("from a task");
    expect(await get([service.pid.remote(), service.sum.remote()])).toEqual([pid, 0]);
    await terminate(service);
    expect(isAlive(pid)).toBe(false);
  });
});
