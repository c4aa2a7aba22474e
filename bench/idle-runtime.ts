/**
 * Weighs a runtime that has started and does nothing. Everything that exists because the program called `init` counts, the program's own
 * process included. Shared memory is the mapped memory of the processes or the growth of the file system, whichever is larger. So a store
 * counts once, and also when no process maps it. Called by the two figures of the idle runtime.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Plan } from "./figure.ts";
import { markedProcesses, sharedMemoryInUseMegabytes, weighProcesses } from "./process-tree.ts";
import type { Subject } from "./subject.ts";

interface IdleWeight {
  readonly processesCount: number;
  readonly megabytes: number;
  readonly sharedMegabytes: number;
}

/** Both runtimes start workers in the background after `init`; by now they are there. */
const SETTLE_MS = 5000;

export async function weighIdleRuntime(subject: Subject, plan: Plan): Promise<IdleWeight> {
  const sharedBefore = await sharedMemoryInUseMegabytes();
  await using child = subject.start("idle", plan);
  await child.waitForLine("ready");
  await delay(plan.quick ? SETTLE_MS / 2 : SETTLE_MS);
  const weight = await weighProcesses(await markedProcesses(child.mark));
  const sharedGrowth = (await sharedMemoryInUseMegabytes()) - sharedBefore;
  child.endInput();
  await child.succeeded();
  const sharedMegabytes = Math.max(weight.mappedSharedMegabytes, sharedGrowth);
  return {
    processesCount: weight.processesCount,
    megabytes: weight.privateMegabytes + sharedMegabytes,
    sharedMegabytes,
  };
}
