/**
 * A process that dies between registering the holds of a message and sending it: the objects in the answer, or in the call, are released.
 * Without the native part, as otherwise an answer is sent when it is made (answers-of-the-dead.test.ts).
 */
import { Socket } from "node:net";
import { get, put, remote, type ObjectRef } from "shoal";
import { expect, test } from "vitest";
import { collectGarbage, failureOf, storeUsedBytes, until, useSession } from "./session.ts";

useSession({ numCpus: 2 });

const ACTOR_CALL = 81;
const RESULT = 82;
const STREAM_ITEM = 86;

/** From now on this process dies when it is about to write a message of this kind. */
function dieBeforeSending(type: number): void {
  const { write } = Socket.prototype;
  Socket.prototype.write = function (this: Socket, ...args: Parameters<typeof write>) {
    if ((args[0] as unknown as Uint8Array)[4] === type) process.kill(process.pid, "SIGKILL");
    return write.apply(this, args);
  } as typeof write;
}

const WITHOUT_OUTBOX = { runtimeEnv: { envVars: { SHOAL_NATIVE: "0" } } };

const megabyte = (): ObjectRef<Uint8Array> => put(new Uint8Array(1024 * 1024).fill(7));

async function expectStoreEmpty(): Promise<void> {
  await until(async () => {
    await collectGarbage();
    return (await storeUsedBytes()) === 0;
  }, "the objects of unsent answers to be freed");
}

test("of a task's answer", async () => {
  const answer = remote(
    (_argument: number) => {
      dieBeforeSending(RESULT);
      return [megabyte(), megabyte()];
    },
    { maxRetries: 0, ...WITHOUT_OUTBOX },
  );
  // With a reference the call goes over a connection to its worker; the answer of a first task takes the way of the holds, through the daemon.
  expect((await failureOf(answer.remote(put(1)))).code).toBe("WORKER_CRASHED");
  await expectStoreEmpty();
});

test("of an actor's answer, and not of those that it had sent before", async () => {
  class Maker {
    make(): ObjectRef<Uint8Array>[] {
      return [megabyte()];
    }
    makeAndDie(): ObjectRef<Uint8Array>[] {
      dieBeforeSending(RESULT);
      return [megabyte()];
    }
  }
  const maker = remote(Maker, WITHOUT_OUTBOX).remote();
  let kept: ObjectRef<Uint8Array>[] | undefined = await maker.make.remote();
  expect((await failureOf(maker.makeAndDie.remote())).code).toBe("ACTOR_DIED");
  await until(async () => {
    await collectGarbage();
    return (await storeUsedBytes()) < 2 * 1024 * 1024;
  }, "the object of the unsent answer to be freed");
  expect((await get(kept[0] as ObjectRef<Uint8Array>))[5]).toBe(7);
  kept = undefined;
  await expectStoreEmpty();
});

test("of an item of a stream", async () => {
  const items = remote(
    function* (): Generator<ObjectRef<Uint8Array>[]> {
      dieBeforeSending(STREAM_ITEM);
      yield [megabyte()];
    },
    { maxRetries: 0, ...WITHOUT_OUTBOX },
  );
  const failure = await (async (): Promise<unknown> => {
    for await (const item of items.remote()) return item;
    return undefined;
  })().catch((error: unknown) => error);
  expect((failure as { code: string }).code).toBe("WORKER_CRASHED");
  await expectStoreEmpty();
});

test("of a call", async () => {
  class Taker {
    take(parts: ObjectRef<Uint8Array>[]): number {
      return parts.length;
    }
  }
  const taker = remote(Taker).remote();
  expect(await taker.take.remote([])).toBe(0);
  const call = remote(
    async (to: typeof taker) => {
      // This call connects, and names the method, beforehand.
      await to.take.remote([]);
      dieBeforeSending(ACTOR_CALL);
      return await to.take.remote([megabyte()]);
    },
    { maxRetries: 0, ...WITHOUT_OUTBOX },
  );
  expect((await failureOf(call.remote(taker))).code).toBe("WORKER_CRASHED");
  await expectStoreEmpty();
  expect(await taker.take.remote([])).toBe(0);
});
