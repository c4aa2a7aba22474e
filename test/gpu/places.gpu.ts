/** GPUs as tasks and actors see them that hold a whole GPU or a part, in TypeScript and in Python. */
import assert from "node:assert/strict";
import { availableResources, get, getRuntimeContext, kill, python, remote, wait } from "shoal";
import { device, environment, gpuCount, isPretended, loopFile, onGpu, processesOnGpu, seen, useGpuSession } from "./machine.ts";

interface View {
  pid: number;
  visible: string | null;
  available: boolean;
  count: number;
  name: string | null;
}

useGpuSession();
const view = python.task<() => View>(loopFile("places"), "view", { runtimeEnv: environment });
const Holder = python.actor<{ view(): View & { sum: number }; busy(seconds: number): [number, number] }, [device: string, mib: number]>(
  loopFile("places"),
  "Holder",
  { runtimeEnv: environment, numCpus: 0 },
);

onGpu("tasks of TypeScript see the GPU that they hold a part of", async () => {
  const shown = remote(() => [getRuntimeContext().acceleratorIds["GPU"] ?? [], process.env["CUDA_VISIBLE_DEVICES"] ?? null] as const);
  for (const numGpus of [1, 0.5, 0.25]) assert.deepEqual(await shown.options({ numGpus }).remote(), [["0"], "0"]);
  const [none, given] = await shown.options({ numGpus: 0 }).remote();
  seen("a task with numGpus 0 is shown", given);
  assert.deepEqual([none, given], [[], process.env["CUDA_VISIBLE_DEVICES"] ?? null]);
  assert.throws(() => shown.options({ numGpus: 1.5 }), /only whole GPUs/);
});

onGpu("a task of Python computes on the GPU that it holds", async () => {
  for (const numGpus of [1, 0.5]) {
    const there = await view.options({ numGpus }).remote();
    seen(`Python with numGpus ${numGpus}`, there);
    assert.equal(there.visible, "0");
    assert.equal(there.available, !isPretended);
    assert.equal(there.count, isPretended ? 0 : 1);
  }
  const without = await view.options({ numGpus: 0 }).remote();
  seen("Python with numGpus 0", without);
  assert.equal(without.visible, process.env["CUDA_VISIBLE_DEVICES"] ?? null);
  if (isPretended) return;
  seen("processes on the GPU after tasks have ended", processesOnGpu());
  const multiply = python.task<(size: number) => number>(loopFile("places"), "multiply", { runtimeEnv: environment, numGpus: 1 });
  assert.ok((await multiply.remote(256)) < 1e-9);
});

onGpu("two halves share the GPU at the same time, and a third waits for one of them to end", async () => {
  const half = Holder.options({ numGpus: 0.5 });
  const [first, second] = [half.remote(device, 64), half.remote(device, 64)];
  const views = await get([first.view.remote(), second.view.remote()]);
  seen("two halves", views);
  assert.deepEqual(
    views.map(({ visible, sum }) => [visible, sum]),
    [
      ["0", 100],
      ["0", 100],
    ],
  );
  assert.notEqual(views[0]?.pid, views[1]?.pid);
  const times = await get([first.busy.remote(1), second.busy.remote(1)]);
  assert.ok(Math.max(...times.map(([begun]) => begun)) < Math.min(...times.map(([, ended]) => ended)), "they computed at the same time");
  assert.equal((await availableResources())["GPU"] ?? 0, gpuCount - 1);
  const others = Array.from({ length: 2 * gpuCount - 1 }, () => half.remote(device, 1));
  const third = others.at(-1) as (typeof others)[number];
  const answer = third.view.remote();
  const [ready] = await wait([answer], { timeoutMs: 2000 });
  assert.equal(ready.length, 0, "the third has no room");
  await kill(first);
  seen("the third, after the first was killed", await answer);
  await Promise.all([second, ...others].map((actor) => kill(actor)));
});

onGpu("a tensor of the GPU does not leave its process, and the error says what to do", async () => {
  const made = python.task<(device: string) => unknown>(loopFile("places"), "tensor_on", { runtimeEnv: environment, numGpus: 1 });
  if (isPretended) {
    await made.remote("cpu");
    return;
  }
  await assert.rejects(get(made.remote("cuda")), (error: Error) => {
    seen("a tensor of the GPU as a result", error.message.split("\n").slice(0, 3).join(" | "));
    return /\.cpu\(\)/.test(error.message);
  });
});
