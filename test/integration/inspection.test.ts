/** Looking into living processes: stacks and profiles of workers that compute without end, that wait, and that run Python. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { cancel, kill, type ObjectRef, python, remote } from "shoal";
import { getProfile, getStack, listTasks, listWorkers } from "shoal/state";
import { describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { failureOf, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2 });

/** Computes until it is cancelled. */
const spin = remote(function spinForever(): number {
  let sum = 0;
  for (;;) sum += Math.sqrt(sum + 1);
});

class Idle {
  pid(): number {
    return process.pid;
  }
}
const IdleActor = remote(Idle);

async function textOf(parts: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const part of parts) text += part;
  return text;
}

interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: { readonly functionName: string; readonly url: string } }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** The names of functions that were sampled, or that called such. */
function functionsOf(profile: CpuProfile): Set<string> {
  return new Set(profile.nodes.map(({ callFrame }) => callFrame.functionName));
}

async function runningTask(name: string): Promise<string> {
  let id: string | undefined;
  await until(async () => {
    const { rows } = await listTasks({
      filters: [
        ["name", "=", name],
        ["state", "=", "RUNNING"],
      ],
    });
    id = rows[0]?.taskId;
    return id !== undefined;
  }, `${name} to run`);
  return id as string;
}

async function ended(ref: ObjectRef<unknown>): Promise<void> {
  cancel(ref, { force: true });
  await failureOf(ref);
  // The record of a killed worker's call ends a moment later.
  await until(async () => (await listTasks({ filters: [["state", "=", "RUNNING"]] })).rows.length === 0, "the call to end");
}

describe("a worker that computes without end", () => {
  test("shows its stack, the user's function first, and where its time goes, and goes on", { timeout: 60_000 }, async () => {
    const ref = spin.remote();
    const taskId = await runningTask("spinForever");
    // Twice: the inspector was closed behind the first question.
    for (const _round of [1, 2]) {
      const { language, threads } = await getStack({ taskId });
      expect(language).toBe("javascript");
      const [innermost] = threads[0]?.frames ?? [];
      expect(innermost?.function).toBe("spinForever");
      expect(innermost?.file).toMatch(/inspection\.test/);
      expect(innermost).not.toHaveProperty("isInternal");
    }
    const profile = JSON.parse(await textOf(getProfile({ taskId, durationMs: 300 }))) as CpuProfile;
    expect(profile.samples.length).toBeGreaterThan(10);
    expect(profile.timeDeltas).toHaveLength(profile.samples.length);
    expect(functionsOf(profile)).toContain("spinForever");
    expect((await listTasks({ filters: [["task_id", "=", taskId]] })).rows[0]?.state).toBe("RUNNING");
    await ended(ref);
  });

  test("is looked into by one question at a time", { timeout: 60_000 }, async () => {
    const ref = spin.remote();
    const taskId = await runningTask("spinForever");
    const long = textOf(getProfile({ taskId, durationMs: 2_000 }));
    await until(async () => /another question/.test(String(await failureOf(getStack({ taskId })))), "a refusal");
    expect(functionsOf(JSON.parse(await long) as CpuProfile).size).toBeGreaterThan(1);
    await ended(ref);
  });
});

test("an actor that waits has no stack, and writes all objects of its heap", { timeout: 60_000 }, async () => {
  const actor = IdleActor.remote();
  const pid = await actor.pid.remote();
  expect((await getStack({ pid })).threads.map(({ frames }) => frames.length)).toEqual([0]);
  const snapshot = JSON.parse(await textOf(getProfile({ pid, profile: "snapshot" }))) as {
    snapshot: { meta: { node_fields: string[] }; node_count: number };
    nodes: number[];
    strings: string[];
  };
  // As the format of V8 has it: a row of numbers for each object.
  expect(snapshot.nodes).toHaveLength(snapshot.snapshot.node_count * snapshot.snapshot.meta.node_fields.length);
  expect(snapshot.strings).toContain("Idle");
  const heap = JSON.parse(await textOf(getProfile({ pid, profile: "heap", durationMs: 100 }))) as { head: { children: unknown[] } };
  expect(Array.isArray(heap.head.children)).toBe(true);
  await kill(actor);
  await until(
    async () =>
      (
        await listWorkers({
          filters: [
            ["pid", "=", pid],
            ["is_alive", "=", true],
          ],
        })
      ).rows.length === 0,
    "the end",
  );
  expect(await failureOf(getStack({ pid }))).toMatchObject({ name: "ShoalError", reason: expect.stringContaining(`pid ${pid}`) as string });
});

test("what is no process is refused with the reason", async () => {
  expect(await failureOf(getStack({ id: "0123" }))).toMatchObject({ reason: "there is no actor, task or worker 0123" });
  expect(await failureOf(getStack({}))).toBeInstanceOf(RangeError);
  expect(await failureOf(textOf(getProfile({ pid: 1, durationMs: 0 })))).toBeInstanceOf(RangeError);
});

describe.skipIf(WITHOUT_PYTHON)(`a Python worker${unless(WITHOUT_PYTHON)}`, () => {
  test("shows the stacks of its threads, and where its time goes, while it computes", { timeout: 60_000 }, async () => {
    const file = join(folder, "spinning.py");
    writeFileSync(file, "def inner():\n    while True:\n        sum(range(1000))\n\n\ndef spin():\n    inner()\n");
    const ref = python.task<() => void>(pathToFileURL(file), "spin").remote();
    const taskId = await runningTask("spin");
    await until(async () => {
      const { threads } = await getStack({ taskId });
      return threads.some(({ frames }) => frames[0]?.function === "inner" && frames[1]?.function === "spin" && frames[0].file === file);
    }, "the task to be in its function");
    const profile = JSON.parse(await textOf(getProfile({ taskId, durationMs: 500 }))) as CpuProfile;
    expect(functionsOf(profile)).toContain("inner");
    expect(profile.samples.length).toBeGreaterThan(3);
    expect(await failureOf(textOf(getProfile({ taskId, profile: "heap" })))).toMatchObject({
      message: expect.stringContaining("tracemalloc") as string,
    });
    await ended(ref);
  });
});
