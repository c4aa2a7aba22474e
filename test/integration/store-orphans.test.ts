/**
 * A worker killed between writing an object and telling the node leaves nothing in the store, once the node has learnt of the end.
 */
import { existsSync, readdirSync } from "node:fs";
import { get, remote, WorkerCrashedError } from "shoal";
import { describe, expect, test } from "vitest";
import { collectGarbage, driverRuntime, failureOf, storeUsedBytes, until, useSession } from "./session.ts";

useSession({ numCpus: 2 });

interface WorkerInside {
  options: { memoryDirectory: string; spillDirectory: string; processId: string };
  store: { write: (inBand: Uint8Array, buffers: readonly Uint8Array[], storedFor: { owner: string }) => unknown };
  objects: { channel: { flush: () => void } };
  daemon: { flush: () => void };
}

/** Stores an object for somebody else as an answer would, and dies before it says where. */
const dieUnanswered = remote(
  (owner: string): void => {
    const runtime = (globalThis as unknown as Record<symbol, WorkerInside>)[Symbol.for("shoal.runtime.1")] as WorkerInside;
    runtime.store.write(new Uint8Array(1_000_000), [], { owner });
    runtime.objects.channel.flush();
    runtime.daemon.flush();
    process.kill(process.pid, "SIGKILL");
  },
  { maxRetries: 0 },
);

const make = remote((bytes: number) => new Uint8Array(bytes).fill(7));

describe("a worker that is killed", () => {
  test("after it has stored a result and before it has answered leaves nothing", async () => {
    const before = await storeUsedBytes();
    expect(await failureOf(dieUnanswered.remote(driverRuntime().options.processId))).toBeInstanceOf(WorkerCrashedError);
    await until(async () => (await storeUsedBytes()) === before, "the store to be as before");
  });

  test("keeps what it has answered", async () => {
    const maker = remote(async () => {
      const ref = make.remote(500_000);
      await ref;
      return { pid: process.pid, ref };
    });
    const results = await Promise.all([1, 2, 3, 4].map(async () => maker.remote()));
    const own = [make.remote(300_000), make.remote(300_000)];
    await Promise.all(own.map((ref) => get(ref)));
    const before = readdirSync(driverRuntime().options.memoryDirectory);
    expect(before.length).toBeGreaterThan(0);
    for (const pid of new Set(results.map((result) => result.pid))) process.kill(pid, "SIGKILL");
    await make.remote(1);
    for (const ref of own) expect((await get(ref)).length).toBe(300_000);
    for (const { ref } of results) expect((await get(ref)).at(-1)).toBe(7);
  });

  test("before it has told of a file leaves none", async () => {
    const files = await remote((): string[] => {
      const { fs } = { fs: process.getBuiltinModule("node:fs") };
      const runtime = (globalThis as unknown as Record<symbol, WorkerInside>)[Symbol.for("shoal.runtime.1")] as WorkerInside;
      const { memoryDirectory, spillDirectory, processId } = runtime.options;
      const made = [`${memoryDirectory}/${processId.slice(0, 28)}-998`, `${spillDirectory}/${processId.slice(0, 28)}-999`];
      for (const file of made) fs.writeFileSync(file, "something");
      setTimeout(() => process.kill(process.pid, "SIGKILL"), 50);
      return made;
    }).remote();
    expect(files.length).toBe(2);
    await until(() => !files.some((file) => existsSync(file)), "the files to be deleted");
  });
});

test("frees what was answered as before", async () => {
  let ref: unknown = make.remote(2_000_000);
  await get(ref as ReturnType<typeof make.remote>);
  ref = undefined;
  await until(async () => {
    await collectGarbage();
    return ref === undefined && (await storeUsedBytes()) === 0;
  }, "the store to be empty");
});
