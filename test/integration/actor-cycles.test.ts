/**
 * Actors that wait for each other are named, and a method that does not exist is refused with the one that was meant.
 */
import { type ActorHandle, get, kill, ready, remote, wait } from "shoal";
import { beforeEach, describe, expect, test } from "vitest";
import { driverRuntime, until, useSession } from "./session.ts";

class Peer {
  #other: ActorHandle<Peer> | undefined;
  meet(other: ActorHandle<Peer>): void {
    this.#other = other;
  }
  async ask(): Promise<string> {
    return await (this.#other as ActorHandle<Peer>).pass.remote();
  }
  async pass(): Promise<string> {
    return await (this.#other as ActorHandle<Peer>).answer.remote();
  }
  async passByTask(): Promise<string> {
    const other = this.#other as ActorHandle<Peer>;
    return await remote(async (handle: ActorHandle<Peer>) => await handle.answer.remote()).remote(other);
  }
  answer(): string {
    return "answer";
  }
}
const RemotePeer = remote(Peer);

describe.each(["process", "inProcess"] as const)("in mode %s", (mode) => {
  useSession({ numCpus: 2, mode });
  const warnings: string[] = [];
  beforeEach(() => {
    warnings.length = 0;
    driverRuntime().options.onWarning = (text) => {
      if (/wait for each other|held by actors/.test(text)) warnings.push(text);
    };
  });

  test("two actors that wait for each other are named once", async () => {
    const [left, right] = [RemotePeer.remote(), RemotePeer.remote()];
    await get([left.meet.remote(right), right.meet.remote(left)]);
    const ref = left.ask.remote();
    await until(() => warnings.length > 0, "the warning");
    expect(warnings[0]).toContain("Peer.ask waits for Peer.pass");
    expect(warnings[0]).toContain("Peer.pass waits for Peer.answer");
    expect(warnings[0]).toContain("maxConcurrency");
    const [, pending] = await wait([ref], { timeoutMs: 1500 });
    expect(pending.length).toBe(1);
    expect(warnings.length).toBe(1);
    await Promise.all([kill(left), kill(right)]);
    await wait([ref]);
  });

  test("so is an actor that waits for a task that waits for it", async () => {
    const only = RemotePeer.remote();
    await only.meet.remote(only);
    const ref = only.passByTask.remote();
    await until(() => warnings.length > 0, "the warning");
    expect(warnings[0]).toContain("Peer.passByTask waits for anonymous");
    expect(warnings[0]).toContain("anonymous waits for Peer.answer");
    await kill(only);
    await wait([ref]);
  });

  test("actors that overlap their calls, and those that just take long, are not", async () => {
    const Overlapping = remote(Peer, { maxConcurrency: 3 });
    const [left, right] = [Overlapping.remote(), Overlapping.remote()];
    await get([left.meet.remote(right), right.meet.remote(left)]);
    expect(await left.ask.remote()).toBe("answer");
    class Slow {
      async work(): Promise<void> {
        await new Promise((resolve) => setTimeout(resolve, 2500));
      }
    }
    class Boss {
      async wait(slow: ActorHandle<Slow>): Promise<void> {
        await slow.work.remote();
      }
    }
    const [slow, boss] = [remote(Slow).remote(), remote(Boss).remote()];
    await boss.wait.remote(slow);
    expect(warnings).toEqual([]);
  });

  test("actors that hold what a task waits for are named", async () => {
    const holders = [1, 2].map(() => remote(Peer, { numCpus: 1 }).remote());
    await Promise.all(holders.map((holder) => ready(holder)));
    const ref = remote(() => "done").remote();
    await until(() => warnings.length > 0, "the warning");
    expect(warnings).toEqual([expect.stringContaining("for 1 CPU (0 free); the rest is held by actors: Peer (1 CPU), Peer (1 CPU)")]);
    await kill(holders[0] as ActorHandle<Peer>);
    expect(await ref).toBe("done");
    await kill(holders[1] as ActorHandle<Peer>);
  });

  test("a method that does not exist is refused with the one that was meant", () => {
    using peer = RemotePeer.remote();
    const loose = peer as unknown as Record<string, { remote(): unknown }>;
    expect(() => loose["anwser"]?.remote()).toThrow(
      "Cannot call Peer.anwser: there is no method anwser: did you mean answer?; fields and accessors are not methods",
    );
    expect(() => loose["terminate"]?.remote()).toThrow("use the function terminate(handle)");
    expect("then" in peer).toBe(false);
    expect((peer as unknown as PromiseLike<unknown>).then).toBeUndefined();
  });
});
